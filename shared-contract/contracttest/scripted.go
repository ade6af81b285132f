package contracttest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

var _ ratelimit.EdgeRateLimitPort = (*Scripted)(nil)

// Scripted is a port for tests: it answers with the outcomes that it was given,
// in their order, and remembers what it was asked. When none is left it answers
// Indeterminate, which denies. The zero Scripted has none to begin with. It is
// safe for concurrent use.
//
// It is as strict as a real port about what any caller can get wrong: a context
// without a deadline is Unavailable DEADLINE, one that has ended is Unavailable
// DEADLINE too, and a request that no policy could serve is Incompatible
// REQUEST. These answers take no outcome from the script.
type Scripted struct {
	mu       sync.Mutex
	outcomes []ratelimit.Outcome
	requests []ratelimit.Request
}

// NewScripted makes a port that answers with outcomes.
func NewScripted(outcomes ...ratelimit.Outcome) *Scripted {
	return &Scripted{outcomes: slices.Clone(outcomes)}
}

// Then adds outcomes to the end of the script.
func (s *Scripted) Then(outcomes ...ratelimit.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcomes = append(s.outcomes, outcomes...)
}

// Evaluate implements [ratelimit.EdgeRateLimitPort].
func (s *Scripted) Evaluate(ctx context.Context, req ratelimit.Request) ratelimit.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	if !servable(req) {
		return ratelimit.Incompatible{PolicyID: req.PolicyID, Category: ratelimit.IncompatibleRequest}.Outcome()
	}
	if _, finite := ctx.Deadline(); !finite || ctx.Err() != nil {
		return ratelimit.Unavailable{PolicyID: req.PolicyID, Category: ratelimit.UnavailableDeadline}.Outcome()
	}
	if len(s.outcomes) == 0 {
		return ratelimit.Indeterminate{PolicyID: req.PolicyID}.Outcome()
	}
	next := s.outcomes[0]
	s.outcomes = s.outcomes[1:]
	return next
}

func servable(req ratelimit.Request) bool {
	return ratelimit.ValidPolicyID(req.PolicyID) && ratelimit.ValidSubjectDigest(req.SubjectDigest) &&
		req.Cost >= 1 && req.EvaluationID == ""
}

// Requests is what the port was asked so far, in order.
func (s *Scripted) Requests() []ratelimit.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Left is how many outcomes of the script have not been answered yet.
func (s *Scripted) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.outcomes)
}

// scriptedNowMillis is the instant of scripted decisions: 2026-01-01 00:00 UTC.
const scriptedNowMillis = 1_767_225_600_000

// Allow is an outcome in which p allows and leaves remaining, and resets after
// a second.
func Allow(p ratelimit.Policy, remaining int64) ratelimit.Outcome {
	return decided(p, ratelimit.Decision{Allowed: true, Remaining: remaining}, time.Second)
}

// Deny is an outcome in which p denies with nothing remaining, and resets when
// retryAfter, which must be above 0, has passed.
func Deny(p ratelimit.Policy, retryAfter time.Duration) ratelimit.Outcome {
	return decided(p, ratelimit.Decision{RetryAfter: retryAfter}, retryAfter)
}

func decided(p ratelimit.Policy, d ratelimit.Decision, resetAfter time.Duration) ratelimit.Outcome {
	d.Limit = p.Limit()
	d.ObservedAtMillis = scriptedNowMillis
	d.ResetAtMillis = scriptedNowMillis + resetAfter.Milliseconds()
	d.PolicyID, d.PolicyRevision = p.ID(), p.Revision()
	d.Source, d.Certainty = ratelimit.GlobalRedis, p.Certainty()
	return ratelimit.Evaluated{Decision: d}.Outcome()
}
