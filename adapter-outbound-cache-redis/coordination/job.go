package coordination

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
)

// job is a call on its way, with the caller who waits for it.
type job struct {
	ctx    context.Context
	terms  terms
	call   Call
	result certainty.Result      // of the connection, until it is sent on
	done   chan certainty.Result // takes one without a reader
	timer  *time.Timer

	// taken is set by the connection before it sends, or by the caller who leaves
	// before that: whoever is first.
	taken atomic.Bool
	told  *atomic.Bool // of its group, written before taken; nil of a call without company

	// The pool's lock guards the rest.
	inLine        bool
	before, after *job
	stalled       bool // it is first in line, and somebody has waited long
}

var jobs = sync.Pool{New: func() any {
	j := &job{done: make(chan certainty.Result, 1), timer: time.NewTimer(time.Hour)}
	j.timer.Stop()
	return j
}}

func newJob(ctx context.Context, terms terms, call Call) *job {
	j := jobs.Get().(*job)
	j.ctx, j.terms, j.call, j.stalled, j.told = ctx, terms, call, false, nil
	j.taken.Store(false)
	return j
}

// free gives back a job that no connection holds any more.
func (j *job) free() {
	j.timer.Stop()
	j.ctx, j.call, j.result, j.told = nil, Call{}, certainty.Result{}, nil
	jobs.Put(j)
}

// hear ends the wait with the connection's result. A connection that breaks is one
// event, however many calls it held: the first to report it tells of it, and the
// others echo.
func (j *job) hear(result certainty.Result) certainty.Result {
	result.Echo = result.Fate == certainty.Unanswered && j.echoes()
	j.free()
	return result
}

// echoes tells whether another call of the group has told already what j is about to.
func (j *job) echoes() bool { return j.told != nil && !j.told.CompareAndSwap(false, true) }

// abandon leaves a job to the connection that holds it. It answers false if the
// connection has sent it, or may have.
func (j *job) abandon() (unsent bool) {
	j.timer.Stop()
	return j.taken.CompareAndSwap(false, true)
}

// carry hands a call to a connection and waits for its end, or for that of its terms
// or its caller.
func (c *Client) carry(ctx context.Context, terms terms, call Call) certainty.Result {
	j := newJob(ctx, terms, call)
	cn, refused := c.pool.submit(j)
	switch {
	case refused != nil:
		j.free()
		return certainty.Result{Fate: certainty.Refused, Refusal: refused.why, CallerLeft: ctx.Err() != nil, Err: refused.err}
	case cn != nil:
		return c.alone(cn, j)
	}
	alarm := j.alarm()
	for hurried := false; ; {
		select {
		case result := <-j.done:
			return j.hear(result)
		case <-alarm:
			if !hurried {
				hurried = true
				c.pool.hurry(j)
				j.timer.Reset(time.Until(j.terms.admitUntil))
				continue
			}
		case <-ctx.Done():
		}
		if result, over := c.leave(j); over {
			return result
		}
		alarm = nil
	}
}

// alarm rings when a call has waited long.
func (j *job) alarm() <-chan time.Time {
	j.timer.Reset(min(stallAfter, time.Until(j.terms.admitUntil)/2))
	return j.timer.C
}

// leave ends the wait of a caller who has gone, or whose wait for a place is over. It
// is not over if the call has been handed on and may take its command's time.
func (c *Client) leave(j *job) (certainty.Result, bool) {
	gone := j.ctx.Err()
	if refused := c.pool.leave(j); refused != nil {
		j.free()
		return certainty.Result{Fate: certainty.Refused, Refusal: refused.why, CallerLeft: gone != nil, Err: refused.err}, true
	}
	select {
	case result := <-j.done:
		return j.hear(result), true
	default:
	}
	if gone == nil && j.terms.budgetEnd.IsZero() {
		return certainty.Result{}, false
	}
	switch unsent := j.abandon(); {
	case unsent && gone != nil:
		return certainty.Result{Fate: certainty.Refused, Refusal: certainty.Deadline, Err: gone}, true
	case unsent:
		return certainty.Result{Fate: certainty.Refused, Refusal: certainty.Overloaded, Err: errBusy.err}, true
	case gone != nil:
		return certainty.Result{Fate: certainty.Unanswered, CallerLeft: true, Err: gone}, true
	default:
		return certainty.Result{Fate: certainty.Unanswered, TimedOut: true, Echo: j.echoes()}, true
	}
}
