package contracttest

import (
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// clockChecks move the clock of a harness that can. They are made for each
// algorithm.
var clockChecks = []struct {
	promise string
	run     func(t *testing.T, h Harness, s shape)
}{
	{"the same cost is admitted after exactly retry-after", retryAfterIsExact},
	{"retry-after is exact within the decay of an earlier window", retryAfterIsExactLater},
	{"waiting in small steps is as good as waiting once", waitingInSteps},
	{"the whole limit is free again at reset-at and not before", resetIsExact},
}

// subjectUnderClock is one subject whose clock is moved by hand.
type subjectUnderClock struct {
	t       *testing.T
	harness Harness
	port    ratelimit.EdgeRateLimitPort
	policy  ratelimit.Policy
	digest  string
}

const clockLimit = 7

func underClock(t *testing.T, h Harness, s shape) subjectUnderClock {
	t.Helper()
	p := policyOf(s.fast(clockLimit), clockLimit)
	return subjectUnderClock{t: t, harness: h, port: h.New(t, p), policy: p, digest: newSubject()}
}

// decide demands a consistent decision.
func (s subjectUnderClock) decide(cost int64) ratelimit.Decision {
	s.t.Helper()
	a := &attempt{firsts: map[question]ratelimit.Decision{}}
	d := a.decide(s.port, s.policy, s.digest, cost)
	for _, fault := range a.faults {
		s.t.Fatal(fault)
	}
	return d
}

// ask demands a consistent decision of one verdict.
func (s subjectUnderClock) ask(cost int64, wantAllowed bool) ratelimit.Decision {
	s.t.Helper()
	d := s.decide(cost)
	if d.Allowed != wantAllowed {
		s.t.Fatalf("cost %d: got %v, want allowed %t", cost, verdict{d.Allowed, d.Remaining}, wantAllowed)
	}
	return d
}

// retry demands that cost is denied, still denied one millisecond before
// retry-after has passed, and then admitted.
func (s subjectUnderClock) retry(cost int64) {
	s.t.Helper()
	wait := s.ask(cost, false).RetryAfter
	s.harness.Advance(s.t, wait-time.Millisecond)
	if last := s.ask(cost, false); last.RetryAfter != time.Millisecond {
		s.t.Errorf("cost %d, a millisecond before: got retry-after %v, want 1ms", cost, last.RetryAfter)
	}
	s.harness.Advance(s.t, time.Millisecond)
	s.ask(cost, true)
}

func retryAfterIsExact(t *testing.T, h Harness, s shape) {
	for cost := range int64(clockLimit) {
		subject := underClock(t, h, s)
		subject.ask(clockLimit, true)
		h.Advance(t, 100*time.Millisecond)
		subject.retry(cost + 1)
	}
}

func retryAfterIsExactLater(t *testing.T, h Harness, s shape) {
	subject := underClock(t, h, s)
	subject.ask(clockLimit, true)
	for _, cost := range []int64{1, 2, 1, 3, 1, 1, 4, 2} {
		subject.exhaust(cost)
		subject.retry(cost)
	}
}

// exhaust asks for cost until it is denied.
func (s subjectUnderClock) exhaust(cost int64) {
	s.t.Helper()
	for range clockLimit + 1 {
		if !s.decide(cost).Allowed {
			return
		}
	}
	s.t.Fatalf("cost %d was admitted %d times at one instant, of a limit of %d", cost, clockLimit+1, clockLimit)
}

func waitingInSteps(t *testing.T, h Harness, s shape) {
	subject := underClock(t, h, s)
	subject.ask(clockLimit, true)
	wait := subject.ask(2, false).RetryAfter
	const step = 7 * time.Millisecond
	for ; wait > step; wait -= step {
		h.Advance(t, step)
		if d := subject.ask(2, false); d.RetryAfter != wait-step {
			t.Fatalf("got retry-after %v, want %v", d.RetryAfter, wait-step)
		}
	}
	h.Advance(t, wait)
	subject.ask(2, true)
}

func resetIsExact(t *testing.T, h Harness, s shape) {
	subject := underClock(t, h, s)
	subject.ask(3, true)
	h.Advance(t, 50*time.Millisecond)
	d := subject.ask(1, true)
	h.Advance(t, d.ResetAfter()-time.Millisecond)
	subject.ask(clockLimit, false)
	h.Advance(t, time.Millisecond)
	fresh := subject.ask(clockLimit, true)
	if fresh.Remaining != 0 {
		t.Errorf("got %d remaining, want 0", fresh.Remaining)
	}
}
