package history_test

import (
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// datedLog is one tenant's log, of which time takes away: its live calls, oldest first, each by whom and with all
// that is known of when.
type datedLog struct {
	live int
	by   [tenantLimit]int // a user, or 0
	when zone             // instant n+1 is that of the live call n
}

// dating is the sequential reading of the sliding log with time. A verdict does not give the server's time, but it
// bounds it: the server decided while the client waited, later than the newest call that it had counted; a call that
// no longer counts is a window old, one that counts is not; and the durations of a verdict say, to the millisecond,
// how old some are. An order of calls is an explanation if there are instants that agree with all of that.
type dating struct{ clocks clocks }

func datedLogModel(c clocks) porcupine.Model {
	return porcupine.Model{
		Partition: partition,
		Init:      func() any { return datedLog{when: newZone()} },
		Step: func(state, input, _ any) (bool, any) {
			s, o := state.(datedLog), input.(*operation)
			return o.Fate == answered && dating{c}.step(&s, o), s
		},
	}
}

// step answers whether a verdict is possible after s, and makes s what it leaves.
func (d dating) step(s *datedLog, o *operation) bool {
	counted := tenantLimit - o.Verdict.Outer.Remaining // of the tenant's, after the call
	if o.Verdict.Allowed {
		counted--
	}
	dead := s.live - counted
	if counted < 0 || dead < 0 {
		return false
	}
	now := s.when.add()
	first, last := d.clocks.server(o.Start, o.End)
	if !s.when.within(now, 0, first, last) || s.live > 0 && !s.when.within(now, s.live, 0, unbounded) {
		return false
	}
	if dead > 0 && !s.when.within(now, dead, logWindow.Microseconds(), unbounded) {
		return false
	}
	s.when.drop(1, dead)
	copy(s.by[:], s.by[dead:])
	clear(s.by[counted:])
	s.live, now = counted, now-dead
	if s.live > 0 && !s.when.within(now, 1, 0, logWindow.Microseconds()-1) {
		return false
	}
	outer, inner := s.layers(o)
	v := o.Verdict
	if v.Allowed != (outer.admits() && inner.admits()) || v.Allowed != (v.RetryAfter == 0) {
		return false
	}
	if !v.Allowed {
		ok := outer.agrees(s, now) && inner.agrees(s, now) && s.retryIs(now, v.RetryAfter, outer, inner)
		s.when.drop(now, 1)
		return ok
	}
	s.by[s.live] = o.Call.User
	s.live++
	return outer.agreesAfter() && inner.agreesAfter()
}

// layer is one layer's part in a verdict: its live calls before it, by their instants.
type layer struct {
	absent bool
	limit  int
	calls  []int
	said   slidinglog.Layer
}

func (s *datedLog) layers(o *operation) (outer, inner layer) {
	outer = layer{limit: tenantLimit, said: o.Verdict.Outer}
	inner = layer{limit: userLimit, said: o.Verdict.Inner, absent: o.Call.User == 0}
	for n := range s.live {
		outer.calls = append(outer.calls, n+1)
		if o.Call.User != 0 && s.by[n] == o.Call.User {
			inner.calls = append(inner.calls, n+1)
		}
	}
	return outer, inner
}

func (l layer) admits() bool { return l.absent || len(l.calls) < l.limit }

// agreesAfter tells whether a verdict that allows says of the layer what has come of it.
func (l layer) agreesAfter() bool {
	if l.absent {
		return l.said == slidinglog.Layer{}
	}
	return l.said == slidinglog.Layer{Remaining: l.limit - len(l.calls) - 1, ResetAfter: logWindow}
}

// agrees tells whether a verdict that denies at the instant now says of the layer what it is.
func (l layer) agrees(s *datedLog, now int) bool {
	switch n := len(l.calls); {
	case l.absent || n == 0 && l.said.Remaining == l.limit:
		return l.said.ResetAfter == 0
	default:
		return l.said.Remaining == l.limit-n && s.ends(now, l.calls[n-1], l.said.ResetAfter)
	}
}

// ends bounds the time in which a call will no longer count by its value in milliseconds, rounded up.
func (s *datedLog) ends(now, call int, in time.Duration) bool {
	after := logWindow.Microseconds() - in.Microseconds() // now, after the call
	return in > 0 && s.when.within(now, call, after, after+999)
}

// retryIs bounds what a call that is denied waits for: the call that must go first in each layer that is full, and of
// two the later. The one of the tenant and the one of the user are both live calls, so one is later in every order.
func (s *datedLog) retryIs(now int, after time.Duration, layers ...layer) bool {
	latest := 0
	for _, l := range layers {
		if !l.admits() {
			latest = max(latest, l.calls[len(l.calls)-l.limit])
		}
	}
	return s.ends(now, latest, after)
}
