package answer

import (
	"errors"
	"net/http"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// Bound is what a layer of the inbound-web limiter was held against.
type Bound struct {
	PolicyID string // for the body of a denial
	Limit    int
}

// OfLog is the answer to a verdict of one layer, or of two if inner is not the zero
// Bound. The headers are of the layer with the least remaining; on a tie of the one
// that resets later, then of the inner. A denial under limit 0 has no Retry-After:
// no wait ends it.
func OfLog(v slidinglog.Verdict, outer, inner Bound) Answer {
	shown, bound := v.Outer, outer
	layers := append(make([]layer, 0, 2), layer{v.Outer, outer})
	if inner != (Bound{}) {
		layers = append(layers, layer{v.Inner, inner})
		if tighterLayer(v.Inner, v.Outer) {
			shown, bound = v.Inner, inner
		}
	}
	a := Answer{
		Status:       http.StatusOK,
		Decided:      true,
		Limit:        int64(max(bound.Limit, 0)),
		Remaining:    int64(max(min(shown.Remaining, bound.Limit), 0)),
		ResetSeconds: ceilSeconds(shown.ResetAfter),
	}
	if v.Allowed {
		return a
	}
	a.Status = http.StatusTooManyRequests
	a.RetryAfterSeconds = retrySeconds(v.RetryAfter)
	a.Problem = quotaExceeded()
	for _, l := range layers {
		if l.Remaining <= 0 {
			a.Problem.ViolatedPolicies = append(a.Problem.ViolatedPolicies, l.PolicyID)
		}
		if l.Limit <= 0 {
			a.RetryAfterSeconds, a.Problem.Detail = 0, "This client is allowed nothing."
		}
	}
	return a
}

type layer struct {
	slidinglog.Layer
	Bound
}

func tighterLayer(inner, outer slidinglog.Layer) bool {
	if inner.Remaining != outer.Remaining {
		return inner.Remaining < outer.Remaining
	}
	return inner.ResetAfter >= outer.ResetAfter
}

// OfLogFailure is the answer to an error of the inbound-web limiter for which
// nothing else decided:
//
//	invalid                      400
//	unavailable, clock unsafe    503  Retry-After  temporary-reduced-capacity
//	unknown                      503  Retry-After  temporary-reduced-capacity
//	incompatible, anything else  503               temporary-reduced-capacity
func OfLogFailure(err error) Answer {
	const soon = time.Second
	switch {
	case errors.Is(err, slidinglog.ErrInvalid):
		return Refuse(http.StatusBadRequest, "The ids that name the client cannot be limited by.")
	case !slidinglog.IsOutage(err):
		return failed(ratelimit.KindIncompatible, 0)
	case errors.Is(err, slidinglog.ErrUnknown):
		return failed(ratelimit.KindIndeterminate, retrySeconds(soon))
	default:
		return failed(ratelimit.KindUnavailable, retrySeconds(soon))
	}
}
