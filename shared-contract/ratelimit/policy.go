package ratelimit

import (
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"time"
)

// FailureMode says what a caller does when there is no decision.
type FailureMode string

// FailClosed refuses the request when there is no decision. It is the only mode
// that this revision keeps.
const FailClosed FailureMode = "FAIL_CLOSED"

// PolicyConfig is what a [Policy] is made of.
type PolicyConfig struct {
	// ID is 1 to 64 characters: a-z 0-9 first, then also . _ -.
	ID string

	// Revision is at least 1. A new revision starts on a fresh allowance.
	Revision int64

	// Algorithm with its parameters: FixedWindow, SlidingWindowCounter or
	// TokenBucket, by value.
	Algorithm Algorithm

	// MaxCost bounds one request's cost: 1 up to the limit or capacity.
	MaxCost int64

	// CleanupGrace is how long state outlives the moment at which it equals
	// fresh state: whole milliseconds, 0 to MaxSpan. Below MaxClockRegression
	// it is legal, but state can then expire while the clock is clamped and
	// grant one more limit.
	CleanupGrace time.Duration

	// MaxClockRegression is how far the Redis clock may step back and be held
	// at the last observed time: whole milliseconds, 0 to MaxSpan. Beyond it an
	// evaluation is Unavailable CLOCK.
	MaxClockRegression time.Duration

	// FailureMode must be FailClosed.
	FailureMode FailureMode

	// DeduplicationWindow must be 0: this revision does not deduplicate.
	DeduplicationWindow time.Duration
}

// Policy is a frozen, valid policy. The zero Policy is no policy: it serves no
// request and providers refuse it.
type Policy struct{ config PolicyConfig }

var policyID = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// ValidPolicyID tells whether s has the form of a policy id.
func ValidPolicyID(s string) bool { return policyID.MatchString(s) }

// NewPolicy freezes c, or returns one error that lists every violation.
func NewPolicy(c PolicyConfig) (Policy, error) {
	var errs []error
	if !ValidPolicyID(c.ID) {
		errs = append(errs, errors.New("id must be 1 to 64 characters of a-z 0-9 . _ - and begin with a letter or digit"))
	}
	errs = append(errs, nonNil(
		checkRange("revision", c.Revision, 1, MaxSafeInteger),
		checkSpan("cleanup grace", c.CleanupGrace, 0),
		checkSpan("max clock regression", c.MaxClockRegression, 0),
	)...)
	errs = append(errs, algorithmViolations(c.Algorithm, c.MaxCost)...)
	if c.FailureMode != FailClosed {
		errs = append(errs, fmt.Errorf("failure mode %q cannot be kept: only %q is", clip(string(c.FailureMode)), FailClosed))
	}
	if c.DeduplicationWindow != 0 {
		errs = append(errs, errors.New("deduplication cannot be kept: the deduplication window must be 0"))
	}
	if len(errs) > 0 {
		return Policy{}, fmt.Errorf("policy %q: %w", clip(c.ID), errors.Join(errs...))
	}
	return Policy{config: c}, nil
}

func algorithmViolations(a Algorithm, maxCost int64) []error {
	switch a.(type) {
	case FixedWindow, SlidingWindowCounter, TokenBucket:
	default:
		return []error{fmt.Errorf("algorithm %T is not FixedWindow, SlidingWindowCounter or TokenBucket", a)}
	}
	errs := a.violations()
	if maxCost < 1 || maxCost > a.limit() {
		errs = append(errs, fmt.Errorf("max cost %d is outside 1 to %d, the limit or capacity", maxCost, a.limit()))
	}
	return errs
}

// IsZero tells whether p is the zero Policy.
func (p Policy) IsZero() bool { return p.config.Algorithm == nil }

// ID is the policy's id; "" on the zero Policy.
func (p Policy) ID() string { return p.config.ID }

// Revision is at least 1; 0 on the zero Policy.
func (p Policy) Revision() int64 { return p.config.Revision }

// Algorithm holds the algorithm's parameters; nil on the zero Policy.
func (p Policy) Algorithm() Algorithm { return p.config.Algorithm }

// MaxCost is the largest cost of one request.
func (p Policy) MaxCost() int64 { return p.config.MaxCost }

// CleanupGrace is how long state outlives the moment it equals fresh state.
func (p Policy) CleanupGrace() time.Duration { return p.config.CleanupGrace }

// MaxClockRegression is how far a clock that steps back is held.
func (p Policy) MaxClockRegression() time.Duration { return p.config.MaxClockRegression }

// FailureMode is FailClosed.
func (p Policy) FailureMode() FailureMode { return p.config.FailureMode }

// Limit is the number that a client sees as its limit: the limit of a window,
// the capacity of a bucket, 0 on the zero Policy.
func (p Policy) Limit() int64 {
	if p.IsZero() {
		return 0
	}
	return p.config.Algorithm.limit()
}

// Certainty is what a decision by this policy may claim.
func (p Policy) Certainty() Certainty {
	if _, ok := p.config.Algorithm.(SlidingWindowCounter); ok {
		return ApproximateAlgorithm
	}
	return Certain
}

// LongestState is the longest time for which one evaluation by this policy can
// keep state alive, with a clamped clock and the grace included.
func (p Policy) LongestState() time.Duration {
	if p.IsZero() {
		return 0
	}
	reset := MatchAlgorithm(p.config.Algorithm,
		func(a FixedWindow) time.Duration { return a.Window },
		func(a SlidingWindowCounter) time.Duration { return 2 * a.Window },
		func(a TokenBucket) time.Duration { return a.fillTime() })
	return reset + p.config.CleanupGrace + p.config.MaxClockRegression
}

// fillTime is the time from empty to full, rounded up.
func (a TokenBucket) fillTime() time.Duration {
	tokens, period := a.Rate()
	high, low := bits.Mul64(uint64(a.Capacity), uint64(period))
	millis, rest := bits.Div64(high, low, uint64(tokens))
	if rest > 0 {
		millis++
	}
	return time.Duration(millis) * time.Millisecond
}
