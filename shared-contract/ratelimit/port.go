package ratelimit

import "context"

// EdgeRateLimitPort decides whether one request may pass, and charges the
// request's cost in the same atomic step if it may.
//
// Evaluate charges once or not at all: an implementation never repeats an
// evaluation whose first attempt may have been charged. The deadline of ctx is
// the caller's deadline and must be finite; a ctx without one is answered with
// Unavailable DEADLINE. Evaluate is safe for concurrent use and never panics on
// bad input: a request that this revision cannot serve is Incompatible REQUEST.
type EdgeRateLimitPort interface {
	Evaluate(ctx context.Context, req Request) Outcome
}
