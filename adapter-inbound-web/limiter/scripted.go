package limiter

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// Answer is one answer of a [Scripted] limiter: a verdict, or else an error.
type Answer struct {
	Verdict slidinglog.Verdict
	Err     error
}

// Call is one call that a [Scripted] limiter was asked for. UserKey is empty in a
// call of one layer, whose key and limit are the tenant's.
type Call struct {
	TenantKey   string
	TenantLimit int
	UserKey     string
	UserLimit   int
}

// Scripted is a limiter of both kinds for tests: it gives the answers that it was
// given, in their order and for calls of either kind, and remembers what it was
// asked. When none is left it answers ErrUnavailable. What every implementation
// refuses it refuses too, and takes no answer from the script. It is safe for
// concurrent use; the zero Scripted has no answers to begin with.
//
// A caller that knows the plain interface alone is tested by hiding the rest:
//
//	var plain RateLimiter = struct{ RateLimiter }{scripted}
type Scripted struct {
	mu      sync.Mutex
	answers []Answer
	calls   []Call
}

// NewScripted makes a limiter that gives answers.
func NewScripted(answers ...Answer) *Scripted { return &Scripted{answers: slices.Clone(answers)} }

// Allowing is an answer that allows and leaves so many calls of each layer: one
// number, or the tenant's and the user's. Both reset after a minute.
func Allowing(remaining ...int) Answer {
	return Answer{Verdict: verdict(true, 0, remaining)}
}

// Denying is an answer that denies. A layer with nothing remaining is full.
func Denying(retryAfter time.Duration, remaining ...int) Answer {
	return Answer{Verdict: verdict(false, retryAfter, remaining)}
}

// Failing is an answer that is no verdict.
func Failing(err error) Answer { return Answer{Err: err} }

func verdict(allowed bool, retryAfter time.Duration, remaining []int) slidinglog.Verdict {
	v := slidinglog.Verdict{Allowed: allowed, RetryAfter: retryAfter}
	for i, layer := range []*slidinglog.Layer{&v.Outer, &v.Inner} {
		if i < len(remaining) {
			*layer = slidinglog.Layer{Remaining: remaining[i], ResetAfter: DefaultWindow}
		}
	}
	return v
}

// Then adds answers to the end of the script.
func (s *Scripted) Then(answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, answers...)
}

// Calls is what the limiter was asked so far, in order, refused calls included.
func (s *Scripted) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Left is how many answers have not been given yet.
func (s *Scripted) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.answers)
}

// Allow implements [RateLimiter].
func (s *Scripted) Allow(key string, limit int) (bool, int, error) {
	v, err := s.AllowContext(context.Background(), key, limit)
	return v.Allowed, v.Outer.Remaining, err
}

// AllowContext implements [ContextRateLimiter]. A context that has ended is
// ErrUnavailable.
func (s *Scripted) AllowContext(ctx context.Context, key string, limit int) (slidinglog.Verdict, error) {
	return s.answer(ctx, Call{TenantKey: key, TenantLimit: limit}, slidinglog.Check(key, limit))
}

// AllowDual implements [DualLayerLimiter].
func (s *Scripted) AllowDual(tenantKey string, tenantLimit int, userKey string, userLimit int) (allowed bool, tenantRemaining int, userRemaining int, err error) {
	v, err := s.AllowDualContext(context.Background(), tenantKey, tenantLimit, userKey, userLimit)
	return v.Allowed, v.Outer.Remaining, v.Inner.Remaining, err
}

// AllowDualContext implements [ContextDualLayerLimiter]. A context that has ended
// is ErrUnavailable.
func (s *Scripted) AllowDualContext(ctx context.Context, tenantKey string, tenantLimit int, userKey string, userLimit int) (slidinglog.Verdict, error) {
	return s.answer(ctx, Call{tenantKey, tenantLimit, userKey, userLimit},
		slidinglog.CheckDual(tenantKey, tenantLimit, userKey, userLimit))
}

func (s *Scripted) answer(ctx context.Context, c Call, refused error) (slidinglog.Verdict, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
	if refused != nil {
		return slidinglog.Verdict{}, refused
	}
	if err := ctx.Err(); err != nil {
		return slidinglog.Verdict{}, fmt.Errorf("%w: %w", slidinglog.ErrUnavailable, err)
	}
	if len(s.answers) == 0 {
		return slidinglog.Verdict{}, fmt.Errorf("%w: the script has no answer left", slidinglog.ErrUnavailable)
	}
	next := s.answers[0]
	s.answers = s.answers[1:]
	if next.Err != nil {
		return slidinglog.Verdict{}, next.Err
	}
	return next.Verdict, nil
}
