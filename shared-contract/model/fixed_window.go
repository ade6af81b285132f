package model

import "github.com/edgelimit/edgelimit/shared-contract/ratelimit"

// fixedWindow counts units in the aligned window of the effective time.
type fixedWindow struct{ limit, windowMillis int64 }

func newFixedWindow(a ratelimit.FixedWindow) fixedWindow {
	return fixedWindow{limit: a.Limit, windowMillis: a.Window.Milliseconds()}
}

func (r fixedWindow) valid(s State) bool {
	return s.Consumed >= 0 && s.Consumed <= r.limit &&
		s == State{Exists: true, ObservedMillis: s.ObservedMillis, Consumed: s.Consumed}
}

func (r fixedWindow) view(s State, effectiveMillis int64) view {
	id, _ := divide(effectiveMillis, r.windowMillis)
	consumed := int64(0)
	if stored, _ := divide(s.ObservedMillis, r.windowMillis); s.Exists && stored == id {
		consumed = s.Consumed
	}
	return fixedWindowView{rules: r, id: id, consumed: consumed}
}

type fixedWindowView struct {
	rules        fixedWindow
	id, consumed int64
}

func (v fixedWindowView) remaining() int64             { return v.rules.limit - v.consumed }
func (v fixedWindowView) resetAtMillis() int64         { return (v.id + 1) * v.rules.windowMillis }
func (v fixedWindowView) admits(cost int64) bool       { return cost <= v.remaining() }
func (v fixedWindowView) admittedAtMillis(int64) int64 { return v.resetAtMillis() }
func (v fixedWindowView) state() State                 { return State{Consumed: v.consumed} }

func (v fixedWindowView) charge(cost int64) view {
	v.consumed += cost
	return v
}
