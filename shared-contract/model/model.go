package model

import (
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// Status is what one evaluation came to.
type Status string

// The statuses.
const (
	Allowed           Status = "ALLOWED"
	Denied            Status = "DENIED"
	ClockUnsafe       Status = "CLOCK_UNSAFE"
	StateIncompatible Status = "STATE_INCOMPATIBLE"
	Invalid           Status = "INVALID"
)

// Reply is the seven fields that every program answers. Under StateIncompatible
// and Invalid all numbers but the two times are 0.
type Reply struct {
	Status             Status
	ServerNowMillis    int64 // the server's clock
	EffectiveNowMillis int64 // the clock that decided: never before the last write
	Limit              int64
	Remaining          int64
	RetryAfterMillis   int64 // counts from ServerNowMillis
	ResetAtMillis      int64 // the first instant at which the state equals a fresh one
}

// State is what one key holds. The zero State is no key. Each algorithm reads
// its own numbers and demands that the others are 0.
type State struct {
	Exists         bool
	ObservedMillis int64 // the effective time of the last write

	Consumed int64 // fixed window: units in the window of ObservedMillis

	Previous int64 // sliding-window counter: units in the window before
	Current  int64 // sliding-window counter: units in the window of ObservedMillis

	ScaledTokens int64 // token bucket: thousandths of a token
	Remainder    int64 // token bucket: what the last refill's division left, in 1/period of a thousandth
}

// Model evaluates by one policy. It is immutable.
type Model struct {
	policy           ratelimit.Policy
	regressionMillis int64
	graceMillis      int64
	rules            rules
}

// rules is one algorithm. view brings a valid state forward to an effective
// time; the zero State is a fresh one.
type rules interface {
	valid(s State) bool
	view(s State, effectiveMillis int64) view
}

// view is a state as seen at one effective time, before any charge.
type view interface {
	remaining() int64
	resetAtMillis() int64
	admits(cost int64) bool
	// charge is the view after an admitted cost.
	charge(cost int64) view
	// admittedAtMillis is the effective time at which a cost that is not
	// admitted now will be.
	admittedAtMillis(cost int64) int64
	state() State
}

// New makes the model of p, which must not be the zero Policy.
func New(p ratelimit.Policy) Model {
	return Model{
		policy:           p,
		regressionMillis: p.MaxClockRegression().Milliseconds(),
		graceMillis:      p.CleanupGrace().Milliseconds(),
		rules: ratelimit.MatchAlgorithm(p.Algorithm(),
			func(a ratelimit.FixedWindow) rules { return newFixedWindow(a) },
			func(a ratelimit.SlidingWindowCounter) rules { return newSlidingWindowCounter(a) },
			func(a ratelimit.TokenBucket) rules { return newTokenBucket(a) }),
	}
}

// Step evaluates cost at serverNowMillis on s. It returns the reply, and for an
// Allowed one the state to keep and for how many milliseconds to keep it;
// otherwise s is returned as it was and the time to live is 0.
func (m Model) Step(s State, serverNowMillis, cost int64) (Reply, State, int64) {
	limit := m.policy.Limit()
	if serverNowMillis < 0 || serverNowMillis > ratelimit.MaxSafeInteger || cost < 1 || cost > limit {
		return m.blank(Invalid, serverNowMillis), s, 0
	}
	if !m.validState(s) {
		return m.blank(StateIncompatible, serverNowMillis), s, 0
	}

	effective := max(serverNowMillis, s.ObservedMillis)
	if effective-serverNowMillis > m.regressionMillis {
		retry := s.ObservedMillis - m.regressionMillis - serverNowMillis
		return Reply{
			Status: ClockUnsafe, ServerNowMillis: serverNowMillis, EffectiveNowMillis: effective, Limit: limit,
			RetryAfterMillis: retry, ResetAtMillis: serverNowMillis + retry,
		}, s, 0
	}

	reply := Reply{ServerNowMillis: serverNowMillis, EffectiveNowMillis: effective, Limit: limit}
	seen := m.rules.view(s, effective)
	if !seen.admits(cost) {
		reply.Status = Denied
		reply.Remaining = seen.remaining()
		reply.RetryAfterMillis = seen.admittedAtMillis(cost) - serverNowMillis
		reply.ResetAtMillis = seen.resetAtMillis()
		return reply, s, 0
	}
	after := seen.charge(cost)
	reply.Status = Allowed
	reply.Remaining = after.remaining()
	reply.ResetAtMillis = after.resetAtMillis()
	kept := after.state()
	kept.Exists, kept.ObservedMillis = true, effective
	return reply, kept, reply.ResetAtMillis - serverNowMillis + m.graceMillis
}

func (m Model) validState(s State) bool {
	if !s.Exists {
		return s == State{}
	}
	return s.ObservedMillis >= 0 && s.ObservedMillis <= ratelimit.MaxSafeInteger && m.rules.valid(s)
}

func (m Model) blank(status Status, serverNowMillis int64) Reply {
	return Reply{Status: status, ServerNowMillis: serverNowMillis, EffectiveNowMillis: serverNowMillis}
}

// divide is the quotient and remainder of n by d, both not negative.
func divide(n, d int64) (quotient, remainder int64) { return n / d, n % d }

// divideUp is n by d, rounded up, without forming n + d - 1.
func divideUp(n, d int64) int64 {
	quotient, remainder := divide(n, d)
	if remainder > 0 {
		quotient++
	}
	return quotient
}
