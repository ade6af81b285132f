package programtest

import (
	"strconv"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// Policy is one whose state lives no longer than it matters, and which takes no clock that
// stepped back.
func Policy(t *testing.T, a ratelimit.Algorithm) ratelimit.Policy {
	t.Helper()
	return PolicyWith(t, a, 0, 0)
}

// PolicyWith is a policy of revision 1 that allows for a clock that stepped back so far,
// and keeps a state so long after it matters. Its largest cost is 1, which binds no test
// here: the programs do not know it.
func PolicyWith(t *testing.T, a ratelimit.Algorithm, regression, grace time.Duration) ratelimit.Policy {
	t.Helper()
	p, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: "test", Revision: 1, Algorithm: a, MaxCost: 1, FailureMode: ratelimit.FailClosed,
		MaxClockRegression: regression, CleanupGrace: grace,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Ordinary is one unremarkable policy of each algorithm, of 10 units, that clamps a
// clock for two seconds.
func Ordinary(t *testing.T) []ratelimit.Policy {
	return []ratelimit.Policy{
		PolicyWith(t, ratelimit.FixedWindow{Limit: 10, Window: time.Minute}, 2*time.Second, 30*time.Second),
		PolicyWith(t, ratelimit.SlidingWindowCounter{Limit: 10, Window: time.Minute}, 2*time.Second, 30*time.Second),
		PolicyWith(t, ratelimit.TokenBucket{Capacity: 10, RefillTokens: 3, RefillPeriod: time.Minute}, 2*time.Second, 30*time.Second),
	}
}

// Decimal is n as programs take their numbers: in text, without sign, exponent or leading
// zero.
func Decimal(n int64) string { return strconv.FormatInt(n, 10) }
