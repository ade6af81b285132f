package contracttest

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// evaluationTime is the deadline that a check gives to one evaluation.
const evaluationTime = 5 * time.Second

// scene is what a check plays in.
type scene struct {
	*attempt
	shape shape
	port  func(policies ...ratelimit.Policy) ratelimit.EdgeRateLimitPort
}

// check is one promise and how to hold a port against it, in scenes that may be
// repeated.
type check struct {
	promise string
	limit   int64 // of the policy "contract-<algorithm>" that the check is given
	run     func(a scene, p ratelimit.Policy)
}

func (c check) hold(t *testing.T, h Harness, s shape) {
	t.Helper()
	settle(t, func(a *attempt) {
		port := func(policies ...ratelimit.Policy) ratelimit.EdgeRateLimitPort { return h.New(t, policies...) }
		c.run(scene{a, s, port}, policyOf(s.slow(c.limit), c.limit))
	})
}

// settle tries until no window ended under way, and reports what was wrong in
// that try.
func settle(t *testing.T, try func(a *attempt)) {
	t.Helper()
	const attempts = 3
	for range attempts {
		a := &attempt{firsts: map[question]ratelimit.Decision{}}
		a.play(t, try)
		if !a.crossed {
			return
		}
	}
	t.Errorf("reset-at or observed-at moved on in each of %d attempts, as if hours had passed in a moment", attempts)
}

// play tries once. What was wrong is reported even if the try ends the test.
func (a *attempt) play(t *testing.T, try func(a *attempt)) {
	t.Helper()
	defer func() {
		t.Helper()
		if a.crossed {
			return
		}
		for _, fault := range a.faults {
			t.Error(fault)
		}
	}()
	try(a)
}

// attempt is one try of a check. It remembers what was wrong, and whether the
// provider's clock let the check be exact. Its methods are safe for concurrent
// use.
type attempt struct {
	mu      sync.Mutex
	firsts  map[question]ratelimit.Decision // the first decision on each
	crossed bool
	faults  []string
}

// question is whose allowance an evaluation is about.
type question struct {
	policy  ratelimit.Policy
	subject string
}

func (a *attempt) faultf(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	const most = 20
	if len(a.faults) < most {
		a.faults = append(a.faults, fmt.Sprintf(format, args...))
	}
}

// evaluate asks with a deadline.
func (a *attempt) evaluate(port ratelimit.EdgeRateLimitPort, req ratelimit.Request) ratelimit.Outcome {
	ctx, cancel := context.WithTimeout(context.Background(), evaluationTime)
	defer cancel()
	return port.Evaluate(ctx, req)
}

// decide asks about cost and demands a decision, and that its fields agree with
// each other and with p.
func (a *attempt) decide(port ratelimit.EdgeRateLimitPort, p ratelimit.Policy, subject string, cost int64) ratelimit.Decision {
	outcome := a.evaluate(port, ratelimit.Request{PolicyID: p.ID(), SubjectDigest: subject, Cost: cost})
	got := read(outcome)
	if got.kind != ratelimit.KindEvaluated {
		a.faultf("cost %d: got %v, want a decision", cost, got)
		return ratelimit.Decision{}
	}
	for _, fault := range disagreements(p, got.decision) {
		a.faultf("cost %d: %s", cost, fault)
	}
	a.watch(question{p, subject}, got.decision)
	return got.decision
}

// expect asks about cost and demands one verdict and what remains after it.
func (a *attempt) expect(port ratelimit.EdgeRateLimitPort, p ratelimit.Policy, subject string, cost int64, want verdict) {
	got := a.decide(port, p, subject, cost)
	if got.Allowed != want.allowed || got.Remaining != want.remaining {
		a.faultf("cost %d: got %v, want %v", cost, verdict{got.Allowed, got.Remaining}, want)
	}
}

type verdict struct {
	allowed   bool
	remaining int64
}

func (v verdict) String() string {
	if v.allowed {
		return fmt.Sprintf("allowed with %d remaining", v.remaining)
	}
	return fmt.Sprintf("denied with %d remaining", v.remaining)
}

func allowed(remaining int64) verdict { return verdict{allowed: true, remaining: remaining} }
func denied(remaining int64) verdict  { return verdict{allowed: false, remaining: remaining} }

// watch notes whether an allowance may have been freed since the first decision
// about it: a window has ended when reset-at moves, and a bucket has gained a
// token when its refill period has passed.
func (a *attempt) watch(q question, d ratelimit.Decision) {
	a.mu.Lock()
	defer a.mu.Unlock()
	first, known := a.firsts[q]
	if !known {
		a.firsts[q] = d
		return
	}
	windowEnded := d.ResetAtMillis != first.ResetAtMillis
	a.crossed = a.crossed || ratelimit.MatchAlgorithm(q.policy.Algorithm(),
		func(ratelimit.FixedWindow) bool { return windowEnded },
		func(ratelimit.SlidingWindowCounter) bool { return windowEnded },
		func(b ratelimit.TokenBucket) bool {
			return d.ObservedAtMillis-first.ObservedAtMillis >= b.RefillPeriod.Milliseconds()/b.RefillTokens
		})
}

// disagreements lists what a decision says that p, the contract or the decision
// itself contradicts.
func disagreements(p ratelimit.Policy, d ratelimit.Decision) []string {
	var found []string
	demand := func(holds bool, format string, args ...any) {
		if !holds {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	demand(d.PolicyID == p.ID(), "policy id %q, want %q", d.PolicyID, p.ID())
	demand(d.PolicyRevision == p.Revision(), "policy revision %d, want %d", d.PolicyRevision, p.Revision())
	demand(d.Limit == p.Limit(), "limit %d, want %d", d.Limit, p.Limit())
	demand(d.Remaining >= 0 && d.Remaining <= d.Limit, "remaining %d, want 0 to %d", d.Remaining, d.Limit)
	demand(d.Certainty == p.Certainty(), "certainty %q, want %q", d.Certainty, p.Certainty())
	demand(d.Source == ratelimit.GlobalRedis || !d.Allowed && d.Source == ratelimit.LocalDenialCache,
		"source %q, allowed %t", d.Source, d.Allowed)
	demand(d.ObservedAtMillis > 0, "observed at %d, want an instant", d.ObservedAtMillis)
	demand(d.ResetAtMillis >= d.ObservedAtMillis, "reset at %d is before observed at %d", d.ResetAtMillis, d.ObservedAtMillis)
	demand(d.RetryAfter%time.Millisecond == 0, "retry-after %v, want whole milliseconds", d.RetryAfter)
	if d.Allowed {
		demand(d.RetryAfter == 0, "allowed with a retry-after of %v, want 0", d.RetryAfter)
		demand(d.ResetAtMillis > d.ObservedAtMillis, "allowed, and reset at once: nothing seems charged")
	} else {
		demand(d.RetryAfter > 0, "denied with a retry-after of %v, want more than 0", d.RetryAfter)
		demand(d.RetryAfter <= d.ResetAfter(), "retry-after %v is later than reset-after %v", d.RetryAfter, d.ResetAfter())
	}
	return found
}

// answer is an outcome taken apart.
type answer struct {
	kind       ratelimit.Kind
	decision   ratelimit.Decision
	policyID   string
	retryAfter time.Duration
	category   ratelimit.Category
}

func read(o ratelimit.Outcome) answer {
	return ratelimit.Match(o,
		func(e ratelimit.Evaluated) answer {
			return answer{kind: ratelimit.KindEvaluated, decision: e.Decision, policyID: e.Decision.PolicyID}
		},
		func(u ratelimit.Unavailable) answer {
			return answer{kind: ratelimit.KindUnavailable, policyID: u.PolicyID, retryAfter: u.RetryAfter, category: ratelimit.Category(u.Category)}
		},
		func(i ratelimit.Indeterminate) answer {
			return answer{kind: ratelimit.KindIndeterminate, policyID: i.PolicyID, retryAfter: i.RetryAfter}
		},
		func(i ratelimit.Incompatible) answer {
			return answer{kind: ratelimit.KindIncompatible, policyID: i.PolicyID, category: ratelimit.Category(i.Category)}
		})
}

// is tells whether two answers are alike to a caller who branches.
func (a answer) is(b answer) bool { return a.kind == b.kind && a.category == b.category }

func (a answer) String() string {
	if a.kind == ratelimit.KindEvaluated {
		return verdict{a.decision.Allowed, a.decision.Remaining}.String()
	}
	if a.category == "" {
		return a.kind.String()
	}
	return a.kind.String() + " " + string(a.category)
}

// newSubject is a subject digest that nobody has used.
func newSubject() string { return "contract-" + rand.Text() }
