package contracttest

import (
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// Harness is what [Run] needs to know of a provider.
type Harness struct {
	// New makes a port that serves exactly policies. It is called for each
	// check; what it opens, it closes by t.Cleanup. The port must take 64
	// evaluations at once. Ports may share one store: every check asks about
	// subjects of its own.
	New func(t *testing.T, policies ...ratelimit.Policy) ratelimit.EdgeRateLimitPort

	// Advance moves the clock that decides, which must otherwise stand still,
	// for all ports that this harness has made. It is nil where the clock is
	// real; the checks that need a clock that can be moved are then not made.
	Advance func(t *testing.T, d time.Duration)
}

// Run holds a provider against the contract of the port. Each promise is a
// subtest, named as a sentence.
func Run(t *testing.T, h Harness) {
	for _, shape := range shapes {
		t.Run(string(shape.name), func(t *testing.T) {
			for _, check := range admissionChecks {
				t.Run(check.promise, func(t *testing.T) { check.hold(t, h, shape) })
			}
			if h.Advance == nil {
				return
			}
			for _, check := range clockChecks {
				t.Run(check.promise, func(t *testing.T) { check.run(t, h, shape) })
			}
		})
	}
	for _, check := range contractChecks {
		t.Run(check.promise, func(t *testing.T) { check.hold(t, h, shapes[0]) })
	}
}

// shape makes policies of one algorithm.
type shape struct {
	name ratelimit.AlgorithmName
	// slow never frees a unit within a check, but at a window's end.
	slow func(limit int64) ratelimit.Algorithm
	// fast is for a clock that is moved by hand.
	fast func(limit int64) ratelimit.Algorithm
}

var shapes = []shape{
	{
		name: ratelimit.NameFixedWindow,
		slow: func(limit int64) ratelimit.Algorithm {
			return ratelimit.FixedWindow{Limit: limit, Window: 6 * time.Hour}
		},
		fast: func(limit int64) ratelimit.Algorithm {
			return ratelimit.FixedWindow{Limit: limit, Window: 997 * time.Millisecond}
		},
	},
	{
		name: ratelimit.NameSlidingWindowCounter,
		slow: func(limit int64) ratelimit.Algorithm {
			return ratelimit.SlidingWindowCounter{Limit: limit, Window: 6 * time.Hour}
		},
		fast: func(limit int64) ratelimit.Algorithm {
			return ratelimit.SlidingWindowCounter{Limit: limit, Window: 997 * time.Millisecond}
		},
	},
	{
		name: ratelimit.NameTokenBucket,
		slow: func(limit int64) ratelimit.Algorithm {
			return ratelimit.TokenBucket{Capacity: limit, RefillTokens: 1, RefillPeriod: 12 * time.Hour}
		},
		fast: func(limit int64) ratelimit.Algorithm {
			return ratelimit.TokenBucket{Capacity: limit, RefillTokens: 3, RefillPeriod: 997 * time.Millisecond}
		},
	},
}

// policyOf makes the policy that most checks ask about.
func policyOf(a ratelimit.Algorithm, limit int64) ratelimit.Policy {
	return mustPolicy(ratelimit.PolicyConfig{
		ID: "contract-" + string(a.Name()), Revision: 1, Algorithm: a, MaxCost: limit,
	})
}

// mustPolicy fills in what every policy of this package has alike. c is a
// constant of this package, or bounded by its generator.
func mustPolicy(c ratelimit.PolicyConfig) ratelimit.Policy {
	c.FailureMode = ratelimit.FailClosed
	if c.CleanupGrace == 0 && c.MaxClockRegression == 0 {
		c.CleanupGrace, c.MaxClockRegression = 30*time.Second, 2*time.Second
	}
	p, err := ratelimit.NewPolicy(c)
	if err != nil {
		panic(err)
	}
	return p
}
