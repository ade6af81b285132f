package model_test

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/edgelimit/edgelimit/shared-contract/contracttest"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

var walkSeed = flag.Uint64("walk.seed", 0, "walk by this seed; 0 draws one")

const (
	walkTimelines = 240
	walkSteps     = 100 // a timeline
	walkLeast     = 500 // times that a walk must come through each feature
)

var algorithms = []ratelimit.AlgorithmName{
	ratelimit.NameFixedWindow, ratelimit.NameSlidingWindowCounter, ratelimit.NameTokenBucket,
}

// newWalk begins a walk whose seed a failure names.
func newWalk(t *testing.T, algorithm ratelimit.AlgorithmName) *contracttest.Walk {
	t.Helper()
	seed := *walkSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("walk again with -walk.seed=%d", seed)
		}
	})
	return contracttest.NewWalk(seed, algorithm)
}

func TestWalk_modelAndBigIntegersAgree(t *testing.T) {
	for _, algorithm := range algorithms {
		t.Run(string(algorithm), func(t *testing.T) {
			t.Parallel()
			walk := newWalk(t, algorithm)
			var coverage contracttest.Coverage
			for range walkTimelines {
				timeline := walk.Next(walkSteps)
				if !agree(t, timeline, &coverage) {
					return
				}
			}
			t.Logf("\n%s", coverage.Report())
			if err := coverage.Check(walkLeast); err != nil {
				t.Error(err)
			}
		})
	}
}

// agree walks one timeline by both readings.
func agree(t *testing.T, timeline contracttest.Timeline, coverage *contracttest.Coverage) bool {
	m, b := model.New(timeline.Policy), newBigReading(timeline.Policy)
	var state model.State
	for i, step := range timeline.Steps {
		if step.Plant != nil {
			state = *step.Plant
		}
		got, gotState, gotTTL := m.Step(state, step.NowMillis, step.Cost)
		want, wantState, wantTTL := b.step(state, step.NowMillis, step.Cost)
		if got != want || gotState != wantState || gotTTL != wantTTL {
			t.Errorf("step %d, %+v by %+v\non %+v:\n got %+v\n     %+v, ttl %d\nwant %+v\n     %+v, ttl %d",
				i, step, timeline.Policy, state, got, gotState, gotTTL, want, wantState, wantTTL)
			return false
		}
		coverage.Count(timeline.Policy, state, got)
		state = gotState
	}
	return true
}
