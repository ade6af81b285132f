package answer

import (
	"net/http"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// Answer is what a client is told. The zero Answer allows nothing.
type Answer struct {
	// Status is 200 when the request may pass. The handler behind chooses the
	// real status then.
	Status int

	// Decided tells whether Limit, Remaining and ResetSeconds mean anything.
	Decided      bool
	Limit        int64
	Remaining    int64 // 0 to Limit
	ResetSeconds int64 // seconds from now, rounded up

	// RetryAfterSeconds is at least 1, or 0 for no Retry-After.
	RetryAfterSeconds int64

	// Local tells that a limit of this process stood in for the shared one.
	Local bool

	// Problem is the body; the zero Problem is none.
	Problem Problem
}

// Of is the answer table:
//
//	allowed        200  X-RateLimit-*
//	denied         429  X-RateLimit-*  Retry-After  quota-exceeded
//	unavailable    503                 Retry-After  temporary-reduced-capacity
//	indeterminate  503                 Retry-After  temporary-reduced-capacity
//	incompatible   503                              temporary-reduced-capacity
func Of(o ratelimit.Outcome) Answer {
	return ratelimit.Match(o,
		func(e ratelimit.Evaluated) Answer { return decided(e.Decision) },
		func(u ratelimit.Unavailable) Answer {
			return failed(ratelimit.KindUnavailable, retrySeconds(u.RetryAfter))
		},
		func(i ratelimit.Indeterminate) Answer {
			return failed(ratelimit.KindIndeterminate, retrySeconds(i.RetryAfter))
		},
		func(ratelimit.Incompatible) Answer { return failed(ratelimit.KindIncompatible, 0) },
	)
}

// IsCallersFault tells whether o says that the port cannot serve the request as
// it was put. An endpoint whose caller put it answers 400 or 404; anywhere else it
// is a failure like the others, by [Of].
func IsCallersFault(o ratelimit.Outcome) bool {
	return o.Kind() == ratelimit.KindIncompatible && o.Category() == ratelimit.Category(ratelimit.IncompatibleRequest)
}

// Refuse is the answer to a request that is wrong in itself. Detail says what to
// change; it must hold nothing of the request that names its sender.
func Refuse(status int, detail string) Answer {
	return Answer{Status: status, Problem: Problem{
		Type: typeBlank, Title: http.StatusText(status), Status: status, Detail: detail,
	}}
}

// Allows tells whether the request may pass.
func (a Answer) Allows() bool { return a.Status == http.StatusOK && a.Decided }

// Tighter is what the client is to be told of two answers, a given first: the one
// that does not allow, else the one with less remaining. On a tie the limit and the
// reset are a's, also beside b's Retry-After. If both allow, the result is Local if
// either is.
func (a Answer) Tighter(b Answer) Answer {
	if !a.Allows() {
		return a
	}
	tighter := b
	if b.Decided && a.Remaining == b.Remaining {
		tighter.Limit, tighter.ResetSeconds = a.Limit, a.ResetSeconds
	}
	if b.Allows() {
		if a.Remaining < b.Remaining {
			tighter = a
		}
		tighter.Local = a.Local || b.Local
	}
	return tighter
}

func decided(d ratelimit.Decision) Answer {
	a := Answer{
		Status:       http.StatusOK,
		Decided:      true,
		Limit:        max(d.Limit, 0),
		Remaining:    max(min(d.Remaining, d.Limit), 0),
		ResetSeconds: ceilSeconds(d.ResetAfter()),
	}
	if d.Allowed {
		return a
	}
	a.Status = http.StatusTooManyRequests
	a.RetryAfterSeconds = retrySeconds(d.RetryAfter)
	a.Problem = quotaExceeded(d.PolicyID)
	return a
}

func failed(kind ratelimit.Kind, retryAfterSeconds int64) Answer {
	return Answer{
		Status:            http.StatusServiceUnavailable,
		RetryAfterSeconds: retryAfterSeconds,
		Problem:           reducedCapacity(kind),
	}
}

func retrySeconds(d time.Duration) int64 { return max(ceilSeconds(d), 1) }

// ceilSeconds never tells a client to come too early, nor in more than MaxSpan.
func ceilSeconds(d time.Duration) int64 {
	d = max(min(d, ratelimit.MaxSpan), 0)
	return int64((d + time.Second - 1) / time.Second)
}
