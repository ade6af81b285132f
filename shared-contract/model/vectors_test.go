package model_test

import (
	"testing"

	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/vectors"
)

// TestVectors_everyNumber runs each timeline twice: with state kept for ever,
// and with state dropped once its time to live has passed in the timeline.
func TestVectors_everyNumber(t *testing.T) {
	set, err := vectors.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, vector := range set.Edge {
		for _, drops := range []bool{false, true} {
			t.Run(vector.Name, func(t *testing.T) { runVector(t, vector, drops) })
		}
	}
}

func runVector(t *testing.T, vector vectors.Edge, drops bool) {
	m := model.New(vector.Policy)
	var state model.State
	var expiresAt int64
	for i, step := range vector.Steps {
		if drops && state.Exists && step.ServerNowMillis >= expiresAt {
			state = model.State{}
		}
		reply, next, ttl := m.Step(state, step.ServerNowMillis, step.Cost)
		if reply != step.Expect || ttl != step.TTLMillis {
			t.Fatalf("step %d:\n got %+v ttl %d\nwant %+v ttl %d", i, reply, ttl, step.Expect, step.TTLMillis)
		}
		if reply.Status == model.Allowed {
			expiresAt = step.ServerNowMillis + ttl
		}
		state = next
	}
}
