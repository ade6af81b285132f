package model_test

import (
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

const second = time.Second

// policy has a maximum cost of its limit, a grace of 5 s and a regression of 2 s.
func policy(t *testing.T, a ratelimit.Algorithm) ratelimit.Policy {
	t.Helper()
	limit := ratelimit.MatchAlgorithm(a,
		func(a ratelimit.FixedWindow) int64 { return a.Limit },
		func(a ratelimit.SlidingWindowCounter) int64 { return a.Limit },
		func(a ratelimit.TokenBucket) int64 { return a.Capacity })
	p, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: "test", Revision: 1, Algorithm: a, MaxCost: limit,
		CleanupGrace: 5 * second, MaxClockRegression: 2 * second, FailureMode: ratelimit.FailClosed,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestModel_timelines are whole stories, a row each, from no state.
func TestModel_timelines(t *testing.T) {
	type step struct {
		now, cost                int64
		status                   model.Status
		remaining, retry, resets int64
	}
	for _, story := range []struct {
		sentence  string
		algorithm ratelimit.Algorithm
		steps     []step
	}{
		{"a fixed window is full, and empty at its end", ratelimit.FixedWindow{Limit: 2, Window: second}, []step{
			{10_100, 1, model.Allowed, 1, 0, 11_000},
			{10_200, 1, model.Allowed, 0, 0, 11_000},
			{10_999, 1, model.Denied, 0, 1, 11_000},
			{11_000, 2, model.Allowed, 0, 0, 12_000},
		}},
		{"a fixed window says when from a clock that stepped back", ratelimit.FixedWindow{Limit: 1, Window: second}, []step{
			{11_500, 1, model.Allowed, 0, 0, 12_000},
			{10_000, 1, model.Denied, 0, 2_000, 12_000},
			{9_500, 1, model.Denied, 0, 2_500, 12_000},
			{9_499, 1, model.ClockUnsafe, 0, 1, 9_500},
		}},
		{"a counter does not degrade to a fixed window", ratelimit.SlidingWindowCounter{Limit: 10, Window: second}, []step{
			{10_950, 10, model.Allowed, 0, 0, 12_000},
			{11_050, 1, model.Denied, 0, 50, 12_000},
			{11_100, 1, model.Allowed, 0, 0, 13_000},
			{11_100, 1, model.Denied, 0, 100, 13_000},
		}},
		{"a counter lets the current window become the previous one first", ratelimit.SlidingWindowCounter{Limit: 4, Window: second}, []step{
			{10_000, 4, model.Allowed, 0, 0, 12_000},
			{10_500, 1, model.Denied, 0, 750, 12_000},
			{11_250, 1, model.Allowed, 0, 0, 13_000},
		}},
		{"a bucket's half token is no token", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 1, RefillPeriod: second}, []step{
			{0, 1, model.Allowed, 0, 0, 1_000},
			{500, 1, model.Denied, 0, 500, 1_000},
			{999, 1, model.Denied, 0, 1, 1_000},
			{1_000, 1, model.Allowed, 0, 0, 2_000},
		}},
		{"a bucket left since 1970 is full and not overflown", ratelimit.TokenBucket{Capacity: 1_000_000, RefillTokens: 1_000_000, RefillPeriod: second}, []step{
			{0, 1_000_000, model.Allowed, 0, 0, 1_000},
			{1_700_000_000_000, 1, model.Allowed, 999_999, 0, 1_700_000_000_001},
		}},
		{"a cost that no policy serves is invalid, and nothing is charged", ratelimit.TokenBucket{Capacity: 5, RefillTokens: 1, RefillPeriod: second}, []step{
			{1_000, 0, model.Invalid, 0, 0, 0},
			{1_000, -5, model.Invalid, 0, 0, 0},
			{1_000, 6, model.Invalid, 0, 0, 0},
			{-1, 1, model.Invalid, 0, 0, 0},
			{1_000, 5, model.Allowed, 0, 0, 6_000},
		}},
	} {
		t.Run(story.sentence, func(t *testing.T) {
			m := model.New(policy(t, story.algorithm))
			var state model.State
			for i, want := range story.steps {
				reply, next, _ := m.Step(state, want.now, want.cost)
				got := step{reply.ServerNowMillis, want.cost, reply.Status, reply.Remaining, reply.RetryAfterMillis, reply.ResetAtMillis}
				if got != want {
					t.Fatalf("step %d:\n got %+v\nwant %+v", i, got, want)
				}
				state = next
			}
		})
	}
}

func TestModel_aStateOfAnotherAlgorithmIsIncompatible(t *testing.T) {
	states := map[ratelimit.AlgorithmName]model.State{
		ratelimit.NameFixedWindow:          {Exists: true, ObservedMillis: 1, Consumed: 1},
		ratelimit.NameSlidingWindowCounter: {Exists: true, ObservedMillis: 1, Previous: 1, Current: 1},
		ratelimit.NameTokenBucket:          {Exists: true, ObservedMillis: 1, ScaledTokens: 1, Remainder: 1},
	}
	for _, a := range []ratelimit.Algorithm{
		ratelimit.FixedWindow{Limit: 5, Window: second},
		ratelimit.SlidingWindowCounter{Limit: 5, Window: second},
		ratelimit.TokenBucket{Capacity: 5, RefillTokens: 1, RefillPeriod: second},
	} {
		m := model.New(policy(t, a))
		for name, state := range states {
			reply, after, _ := m.Step(state, 1_000, 1)
			if got, want := reply.Status == model.StateIncompatible, name != a.Name(); got != want {
				t.Errorf("%s on the state of %s: got %s", a.Name(), name, reply.Status)
			}
			if reply.Status == model.StateIncompatible && after != state {
				t.Errorf("%s changed the state of %s", a.Name(), name)
			}
		}
		ghost := states[a.Name()]
		ghost.Exists = false
		if reply, _, _ := m.Step(ghost, 1_000, 1); reply.Status != model.StateIncompatible {
			t.Errorf("%s: numbers without a key: got %s, want %s", a.Name(), reply.Status, model.StateIncompatible)
		}
	}
}
