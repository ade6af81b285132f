package model

import "github.com/edgelimit/edgelimit/shared-contract/ratelimit"

// slidingWindowCounter weighs the previous aligned window by its overlap with
// the sliding one, in millionths, always rounded up.
type slidingWindowCounter struct{ limit, windowMillis int64 }

func newSlidingWindowCounter(a ratelimit.SlidingWindowCounter) slidingWindowCounter {
	return slidingWindowCounter{limit: a.Limit, windowMillis: a.Window.Milliseconds()}
}

func (r slidingWindowCounter) valid(s State) bool {
	return s.Previous >= 0 && s.Previous <= r.limit && s.Current >= 0 && s.Current <= r.limit &&
		s == State{Exists: true, ObservedMillis: s.ObservedMillis, Previous: s.Previous, Current: s.Current}
}

func (r slidingWindowCounter) view(s State, effectiveMillis int64) view {
	id, elapsed := divide(effectiveMillis, r.windowMillis)
	v := slidingWindowView{rules: r, startMillis: effectiveMillis - elapsed}
	if stored, _ := divide(s.ObservedMillis, r.windowMillis); s.Exists {
		switch stored {
		case id:
			v.previous, v.current = s.Previous, s.Current
		case id - 1:
			v.previous = s.Current
		}
	}
	weight := divideUp((r.windowMillis-elapsed)*ratelimit.CounterScale, r.windowMillis)
	v.weighed = divideUp(v.previous*weight, ratelimit.CounterScale)
	return v
}

type slidingWindowView struct {
	rules             slidingWindowCounter
	startMillis       int64 // of the current window
	previous, current int64
	weighed           int64 // what the previous window still counts for
}

func (v slidingWindowView) used() int64            { return v.weighed + v.current }
func (v slidingWindowView) remaining() int64       { return max(0, v.rules.limit-v.used()) }
func (v slidingWindowView) admits(cost int64) bool { return cost <= v.rules.limit-v.used() }
func (v slidingWindowView) state() State           { return State{Previous: v.previous, Current: v.current} }

func (v slidingWindowView) charge(cost int64) view {
	v.current += cost
	return v
}

func (v slidingWindowView) resetAtMillis() int64 {
	if v.current > 0 {
		return v.startMillis + 2*v.rules.windowMillis
	}
	return v.startMillis + v.rules.windowMillis
}

// admittedAtMillis solves the admission rule for time: the counts that decay
// may weigh at most heaviest millionths.
func (v slidingWindowView) admittedAtMillis(cost int64) int64 {
	window := v.rules.windowMillis
	if free := v.rules.limit - cost - v.current; free >= 0 {
		heaviest := free * ratelimit.CounterScale / v.previous
		return v.startMillis + window - heaviest*window/ratelimit.CounterScale
	}
	heaviest := (v.rules.limit - cost) * ratelimit.CounterScale / v.current
	return v.startMillis + 2*window - heaviest*window/ratelimit.CounterScale
}
