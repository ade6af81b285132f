package slidinglog

import (
	"fmt"
	"time"
)

// Allow makes one call of one layer at nowMicros, and counts it if it is allowed.
// The limit must not be negative; see [Check]. The error is ErrClockUnsafe, and
// the log is as it was.
func Allow(window time.Duration, nowMicros int64, log *Log, limit int) (Verdict, error) {
	c, err := callAt(window, nowMicros, log)
	if err != nil {
		return Verdict{}, err
	}
	only := c.layer(log, limit)
	v := Verdict{Allowed: only.admits()}
	if v.Allowed {
		only.count()
	} else {
		v.RetryAfter = c.until(only.admittedAt())
	}
	v.Outer = only.describe()
	return v, nil
}

// AllowDual makes one call of two layers at nowMicros. It is counted by both if
// both admit it, else by neither. The logs must be two; see [CheckDual]. The error
// is ErrClockUnsafe, and the logs are as they were.
func AllowDual(window time.Duration, nowMicros int64, outerLog *Log, outerLimit int, innerLog *Log, innerLimit int) (Verdict, error) {
	c, err := callAt(window, nowMicros, outerLog, innerLog)
	if err != nil {
		return Verdict{}, err
	}
	outer, inner := c.layer(outerLog, outerLimit), c.layer(innerLog, innerLimit)
	v := Verdict{Allowed: outer.admits() && inner.admits()}
	if v.Allowed {
		outer.count()
		inner.count()
	} else {
		v.RetryAfter = c.until(max(outer.admittedAt(), inner.admittedAt()))
	}
	v.Outer, v.Inner = outer.describe(), inner.describe()
	return v, nil
}

// call is one call at its clock. All times are microseconds.
type call struct {
	window int64
	clock  int64 // what the clock says
	now    int64 // the clock, or the newest call if the clock is behind it
}

func callAt(window time.Duration, clock int64, logs ...*Log) (call, error) {
	c := call{window: window.Microseconds(), clock: clock, now: clock}
	for _, log := range logs {
		if newest, ok := log.Newest(); ok {
			c.now = max(c.now, newest)
		}
	}
	if c.now-clock > c.window {
		return call{}, fmt.Errorf("%w by more than one window", ErrClockUnsafe)
	}
	return c, nil
}

// until is the time from the clock to at, in whole milliseconds, rounded up.
func (c call) until(at int64) time.Duration {
	if at <= c.clock {
		return 0
	}
	return (time.Duration(at-c.clock)*time.Microsecond + time.Millisecond - 1).Truncate(time.Millisecond)
}

// layer is one log as seen by one call.
type layer struct {
	call  call
	log   *Log
	dead  int // the oldest calls of the log, which no longer count
	limit int
}

func (c call) layer(log *Log, limit int) layer {
	return layer{call: c, log: log, dead: log.dead(c.now, c.window), limit: limit}
}

func (l layer) live() int { return l.log.Len() - l.dead }

func (l layer) admits() bool { return l.live() < l.limit }

// admittedAt is when the layer admits a call; the clock itself if it does now.
func (l layer) admittedAt() int64 {
	switch {
	case l.admits():
		return l.call.clock
	case l.limit == 0:
		return l.call.now + l.call.window
	default: // limit-1 newer calls are then left
		return l.log.at(l.log.Len()-l.limit) + l.call.window
	}
}

func (l *layer) count() {
	l.log.replace(l.dead, l.call.now)
	l.dead = 0
}

func (l layer) describe() Layer {
	described := Layer{Remaining: max(0, l.limit-l.live())}
	if newest, ok := l.log.Newest(); ok && l.live() > 0 {
		described.ResetAfter = l.call.until(newest + l.call.window)
	}
	return described
}
