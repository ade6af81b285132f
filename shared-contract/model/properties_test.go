package model_test

import (
	"testing"

	"github.com/edgelimit/edgelimit/shared-contract/contracttest"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// walked is one step of a walk as the model took it.
type walked struct {
	policy     ratelimit.Policy
	model      model.Model
	before     model.State
	step       contracttest.Step
	reply      model.Reply
	after      model.State
	ttlMillis  int64
	clockMoved int64 // by how much the clock stepped back: observed less server now, or 0
}

// TestWalk_everyStep holds what must be true of each step of a walk, whatever
// came before it.
func TestWalk_everyStep(t *testing.T) {
	for _, algorithm := range algorithms {
		t.Run(string(algorithm), func(t *testing.T) {
			t.Parallel()
			walk := newWalk(t, algorithm)
			clamped := 0
			for range walkTimelines {
				timeline := walk.Next(walkSteps)
				m := model.New(timeline.Policy)
				var state model.State
				for _, step := range timeline.Steps {
					if step.Plant != nil {
						state = *step.Plant
					}
					w := walked{policy: timeline.Policy, model: m, before: state, step: step}
					w.reply, w.after, w.ttlMillis = m.Step(state, step.NowMillis, step.Cost)
					if state.Exists && w.reply.Status != model.StateIncompatible {
						w.clockMoved = max(0, state.ObservedMillis-step.NowMillis)
					}
					for _, property := range everyStep {
						if !property.holds(w) {
							t.Fatalf("not true: %s\n%+v\n%+v", property.sentence, timeline.Policy, w)
						}
					}
					if w.reply.Status == model.Denied && w.clockMoved > 0 {
						clamped++
					}
					state = w.after
				}
			}
			if clamped < walkLeast {
				t.Errorf("%d denials by a clock that had stepped back, want at least %d", clamped, walkLeast)
			}
		})
	}
}

var everyStep = []struct {
	sentence string
	holds    func(w walked) bool
}{
	{"remaining is 0 to limit, and limit is the policy's where anything was decided", func(w walked) bool {
		if w.reply.Status == model.Invalid || w.reply.Status == model.StateIncompatible {
			return w.reply.Limit == 0 && w.reply.Remaining == 0
		}
		return w.reply.Limit == w.policy.Limit() && w.reply.Remaining >= 0 && w.reply.Remaining <= w.reply.Limit
	}},
	{"only an allowed evaluation changes the state or gives it a time to live", func(w walked) bool {
		return w.reply.Status == model.Allowed || w.after == w.before && w.ttlMillis == 0
	}},
	{"an allowed evaluation leaves a state that is valid and not from the clock's past", func(w walked) bool {
		if w.reply.Status != model.Allowed {
			return true
		}
		again, _, _ := w.model.Step(w.after, w.reply.EffectiveNowMillis, 1)
		return again.Status != model.StateIncompatible && w.after.ObservedMillis == w.reply.EffectiveNowMillis &&
			w.after.ObservedMillis >= w.before.ObservedMillis
	}},
	{"an allowed evaluation lives until its reset, with the grace", func(w walked) bool {
		return w.reply.Status != model.Allowed ||
			w.ttlMillis == w.reply.ResetAtMillis-w.reply.ServerNowMillis+w.policy.CleanupGrace().Milliseconds() && w.ttlMillis > 0 &&
				w.ttlMillis <= w.policy.LongestState().Milliseconds()
	}},
	{"retry-after is 0 when allowed and above 0 when denied or unsafe", func(w walked) bool {
		switch w.reply.Status {
		case model.Denied, model.ClockUnsafe:
			return w.reply.RetryAfterMillis > 0
		default:
			return w.reply.RetryAfterMillis == 0
		}
	}},
	{"a denied cost is admitted after exactly retry-after", func(w walked) bool {
		if w.reply.Status != model.Denied {
			return true
		}
		due := w.reply.ServerNowMillis + w.reply.RetryAfterMillis
		return w.statusAt(due-1, w.step.Cost) == model.Denied && w.statusAt(due, w.step.Cost) == model.Allowed
	}},
	{"a clock is safe again after exactly retry-after", func(w walked) bool {
		if w.reply.Status != model.ClockUnsafe {
			return true
		}
		due := w.reply.ServerNowMillis + w.reply.RetryAfterMillis
		return w.statusAt(due-1, 1) == model.ClockUnsafe && w.statusAt(due, 1) != model.ClockUnsafe
	}},
	{"reset-at is the first instant from which the state answers as no state would", func(w walked) bool {
		if w.reply.Status != model.Allowed && w.reply.Status != model.Denied {
			return true
		}
		return !w.freshAt(w.reply.ResetAtMillis-1) && w.freshAt(w.reply.ResetAtMillis)
	}},
	{"a key that expired is not missed, though the clock then steps back within the grace", func(w walked) bool {
		if w.reply.Status != model.Allowed {
			return true
		}
		expired := w.step.NowMillis + w.ttlMillis
		held := min(w.policy.MaxClockRegression(), w.policy.CleanupGrace())
		return w.freshAt(expired) && w.freshAt(expired-held.Milliseconds())
	}},
	{"a larger cost is never admitted where a smaller one is denied", func(w walked) bool {
		if w.reply.Status != model.Denied || w.step.Cost == w.policy.Limit() {
			return true
		}
		return w.statusAt(w.step.NowMillis, w.step.Cost+1) == model.Denied
	}},
	{"what remains can be had, and one unit more cannot", func(w walked) bool {
		if w.reply.Status != model.Allowed && w.reply.Status != model.Denied {
			return true
		}
		most, limit := w.reply.Remaining, w.policy.Limit()
		had, _, _ := w.model.Step(w.after, w.step.NowMillis, max(1, most))
		more, _, _ := w.model.Step(w.after, w.step.NowMillis, min(limit, most+1))
		return (most == 0 || had.Status == model.Allowed) && (most == limit || more.Status == model.Denied)
	}},
}

// statusAt is the status of cost on the state after the step, at another time.
func (w walked) statusAt(nowMillis, cost int64) model.Status {
	reply, _, _ := w.model.Step(w.after, nowMillis, cost)
	return reply.Status
}

// freshAt tells whether the state after the step answers at an effective time as
// no state would: the whole limit is admitted, and with the same numbers. A
// state that admits the whole limit is a fresh one for all three algorithms:
// nothing consumed, both windows empty, a bucket full and without a remainder.
func (w walked) freshAt(nowMillis int64) bool {
	if nowMillis < w.after.ObservedMillis {
		return false
	}
	limit := w.policy.Limit()
	reply, state, ttl := w.model.Step(w.after, nowMillis, limit)
	freshReply, freshState, freshTTL := w.model.Step(model.State{}, nowMillis, limit)
	if reply.Status != model.Allowed {
		return false
	}
	return reply == freshReply && state == freshState && ttl == freshTTL
}
