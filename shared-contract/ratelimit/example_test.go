package ratelimit_test

import (
	"context"
	"fmt"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/contracttest"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

func ExampleNewPolicy() {
	policy, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: "api", Revision: 1, MaxCost: 5,
		Algorithm:          ratelimit.TokenBucket{Capacity: 20, RefillTokens: 10, RefillPeriod: time.Second},
		CleanupGrace:       30 * time.Second,
		MaxClockRegression: 2 * time.Second,
		FailureMode:        ratelimit.FailClosed,
	})
	fmt.Println(policy.ID(), policy.Limit(), policy.Certainty(), err)
	// Output: api 20 CERTAIN <nil>
}

func ExampleNewPolicy_everyViolation() {
	_, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: "api", Revision: 1, MaxCost: 11,
		Algorithm: ratelimit.FixedWindow{Limit: 10, Window: 500 * time.Microsecond},
	})
	fmt.Println(err)
	// Output:
	// policy "api": window 500µs is outside 1ms to 366 days
	// max cost 11 is outside 1 to 10, the limit or capacity
	// failure mode "" cannot be kept: only "FAIL_CLOSED" is
}

// The shortest code that a caller can write denies whatever is not an allow.
func ExampleEdgeRateLimitPort() {
	var port ratelimit.EdgeRateLimitPort = contracttest.NewScripted() // decides nothing

	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	request := ratelimit.Request{PolicyID: "api", SubjectDigest: "0123456789abcdef", Cost: 1}
	if !port.Evaluate(ctx, request).Allows() {
		fmt.Println("denied")
	}
	// Output: denied
}

// A caller who wants to answer each outcome in its own way cannot forget one.
func ExampleMatch() {
	answer := func(o ratelimit.Outcome) string {
		return ratelimit.Match(o,
			func(e ratelimit.Evaluated) string {
				if e.Decision.Allowed {
					return fmt.Sprintf("200, %d remaining", e.Decision.Remaining)
				}
				return fmt.Sprintf("429, retry after %v", e.Decision.RetryAfter)
			},
			func(u ratelimit.Unavailable) string { return fmt.Sprintf("503, retry after %v", u.RetryAfter) },
			func(i ratelimit.Indeterminate) string {
				return fmt.Sprintf("503, retry after %v, perhaps charged", i.RetryAfter)
			},
			func(ratelimit.Incompatible) string { return "503" })
	}
	fmt.Println(answer(ratelimit.Evaluated{Decision: ratelimit.Decision{Allowed: true, Remaining: 4}}.Outcome()))
	fmt.Println(answer(ratelimit.Evaluated{Decision: ratelimit.Decision{RetryAfter: 250 * time.Millisecond}}.Outcome()))
	fmt.Println(answer(ratelimit.Unavailable{Category: ratelimit.UnavailableConnection}.Outcome()))
	fmt.Println(answer(ratelimit.Outcome{}))
	fmt.Println(answer(ratelimit.Incompatible{Category: ratelimit.IncompatibleState}.Outcome()))
	// Output:
	// 200, 4 remaining
	// 429, retry after 250ms
	// 503, retry after 1s
	// 503, retry after 1s, perhaps charged
	// 503
}
