package history_test

import (
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// logCounts is one tenant's log, in which nothing ends: what it and each user have counted.
type logCounts struct {
	tenant int
	users  [users + 1]int
	tried  tried
}

// countingLog is the sequential reading of the sliding log under a window that is far longer than the test. Verdicts
// give no instant, and none is needed: admission and what remains depend on the number of calls alone.
func countingLog() porcupine.Model {
	return porcupine.Model{
		Partition: partition,
		Init:      func() any { return logCounts{} },
		Step: func(state, input, _ any) (bool, any) {
			s, o := state.(logCounts), input.(*operation)
			admits := s.admits(o.Call.User)
			switch {
			case o.Fate == unknown && !s.tried.inTurn(int64(o.Call.User), o):
				return false, nil
			case o.Fate != unknown && (o.Fate != answered || o.Verdict.Allowed != admits):
				return false, nil
			}
			if admits {
				s.count(o.Call.User)
			}
			return o.Fate == unknown || s.describes(o.Call.User, o.Verdict), s
		},
	}
}

func (s logCounts) admits(user int) bool {
	return s.tenant < longTenantLimit && (user == 0 || s.users[user] < longUserLimit)
}

func (s *logCounts) count(user int) {
	s.tenant++
	if user != 0 {
		s.users[user]++
	}
}

func (s logCounts) describes(user int, v slidinglog.Verdict) bool {
	if user == 0 && v.Inner != (slidinglog.Layer{}) || v.Allowed != (v.RetryAfter == 0) || v.RetryAfter > longLogWindow {
		return false
	}
	return layerIs(v.Outer, v.Allowed, longTenantLimit, s.tenant) && (user == 0 || layerIs(v.Inner, v.Allowed, longUserLimit, s.users[user]))
}

// layerIs tells whether a layer has counted so many calls: the newest is this one if it was allowed.
func layerIs(l slidinglog.Layer, allowed bool, limit, counted int) bool {
	least, most := time.Duration(1), longLogWindow
	switch {
	case allowed:
		least = longLogWindow
	case counted == 0:
		least, most = 0, 0
	}
	return l.Remaining == limit-counted && l.ResetAfter >= least && l.ResetAfter <= most
}
