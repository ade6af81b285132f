package history_test

import (
	"github.com/anishathalye/porcupine"

	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// edgeState is one subject's under one policy.
type edgeState struct {
	model.State
	tried tried
}

// tried is how many unknown calls of each kind, a cost or a user, have had their turn.
type tried [mostCost + 1]int

// inTurn lets an unknown call have effect only after the one like it that was made before. No history is lost by
// that, since of two such calls, both open to the end, the one that was made first can always stand first; and
// without it a search would go through all orders of them.
func (t *tried) inTurn(kind int64, o *operation) bool {
	if t[kind] != o.Turn {
		return false
	}
	t[kind]++
	return true
}

// edgeModel is the sequential reading of the edge port: each answer must be exactly what package model says of the
// state that the calls before have left, at the instant that the answer itself gives as the server's.
//
// A call of unknown outcome has the effect that it has now, if it fits. That it had none is the case in which it
// stands after all others. When it ran does not matter under the policies of a load with faults: a window does not
// end, and what a bucket that is not full holds at an instant does not depend on when within its life it was charged.
func edgeModel() porcupine.Model {
	models := map[string]model.Model{}
	for _, p := range policies() {
		models[p.ID()] = model.New(p)
	}
	return porcupine.Model{
		Partition: partition,
		Init:      func() any { return edgeState{} },
		Step: func(state, input, _ any) (bool, any) {
			s, o := state.(edgeState), input.(*operation)
			m := models[o.Call.Limiter]
			switch o.Fate {
			case answered:
				said, after, _ := m.Step(s.State, o.Decision.ObservedAtMillis, o.Call.Cost)
				s.State = after
				return says(o.Decision, said), s
			case unknown:
				// A bucket that nobody has used is full and not filling.
				if !s.Exists || !s.tried.inTurn(o.Call.Cost, o) {
					return false, nil
				}
				_, s.State, _ = m.Step(s.State, s.ObservedMillis, o.Call.Cost)
				return true, s
			default:
				return false, nil
			}
		},
	}
}

// says tells whether a decision is the model's reply.
func says(d ratelimit.Decision, r model.Reply) bool {
	status := model.Denied
	if d.Allowed {
		status = model.Allowed
	}
	return status == r.Status && d.Limit == r.Limit && d.Remaining == r.Remaining && d.ResetAtMillis == r.ResetAtMillis &&
		d.RetryAfter == ratelimit.Span(r.RetryAfterMillis)
}
