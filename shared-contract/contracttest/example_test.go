package contracttest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/contracttest"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// A caller's test scripts the port: one allow, and then no decision at all.
func ExampleScripted() {
	policy, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: "api", Revision: 1, MaxCost: 5, FailureMode: ratelimit.FailClosed,
		Algorithm: ratelimit.TokenBucket{Capacity: 20, RefillTokens: 10, RefillPeriod: time.Second},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	port := contracttest.NewScripted(contracttest.Allow(policy, 19))

	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	request := ratelimit.Request{PolicyID: "api", SubjectDigest: "0123456789abcdef", Cost: 1}
	for range 2 {
		outcome := port.Evaluate(ctx, request)
		fmt.Println(outcome.Kind(), outcome.Allows())
	}
	fmt.Println(len(port.Requests()), "requests")
	// Output:
	// evaluated true
	// indeterminate false
	// 2 requests
}

// An author of a provider holds it against the contract in one test.
func ExampleRun() {
	_ = func(t *testing.T) {
		contracttest.Run(t, contracttest.Harness{
			New: func(t *testing.T, policies ...ratelimit.Policy) ratelimit.EdgeRateLimitPort {
				return newMemoryPort(newStore(&clock{millis: 1_700_000_000_000}), policies)
			},
		})
	}
}

// Two readings of one algorithm are walked side by side.
func ExampleWalk() {
	walk := contracttest.NewWalk(42, ratelimit.NameTokenBucket)
	var coverage contracttest.Coverage
	for range 100 {
		timeline := walk.Next(100)
		reading := model.New(timeline.Policy)
		var state model.State
		for _, step := range timeline.Steps {
			if step.Plant != nil {
				state = *step.Plant
			}
			reply, next, _ := reading.Step(state, step.NowMillis, step.Cost)
			coverage.Count(timeline.Policy, state, reply)
			state = next // another reading would be compared here
		}
	}
	fmt.Println(coverage.Check(100))
	// Output:
	// <nil>
}
