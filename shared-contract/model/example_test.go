package model_test

import (
	"fmt"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// A bucket of two tokens, one back each second, in a time that we make up.
func ExampleModel_Step() {
	policy, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: "api", Revision: 1, MaxCost: 2, FailureMode: ratelimit.FailClosed,
		Algorithm: ratelimit.TokenBucket{Capacity: 2, RefillTokens: 1, RefillPeriod: time.Second},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	m := model.New(policy)
	var state model.State // no key yet: a full bucket
	for _, nowMillis := range []int64{5_000, 5_100, 5_200, 6_000} {
		var reply model.Reply
		reply, state, _ = m.Step(state, nowMillis, 1)
		fmt.Println(nowMillis, reply.Status, "remaining", reply.Remaining, "retry", reply.RetryAfterMillis, "reset", reply.ResetAtMillis)
	}
	// Output:
	// 5000 ALLOWED remaining 1 retry 0 reset 6000
	// 5100 ALLOWED remaining 0 retry 0 reset 7000
	// 5200 DENIED remaining 0 retry 800 reset 7000
	// 6000 ALLOWED remaining 0 retry 0 reset 8000
}
