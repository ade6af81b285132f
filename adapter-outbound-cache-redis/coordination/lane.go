package coordination

import (
	"errors"
	"sync/atomic"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/executor"
)

// serve is the goroutine of one pooled connection: it runs one group of calls after
// another, and ends those that their callers ran alone and left, until the pool
// drops the connection.
func (c *Client) serve(cn *connection) {
	defer cn.close()
	var ended []*job
	for range cn.work {
		usable, over := true, false
		if cn.left {
			cn.left = false
			cn.wire.resume()
		} else {
			usable, over = c.prepare(cn)
		}
		for !over {
			cn.sent.receive(cn.wire)
			usable, over = c.advance(cn)
		}
		cn.sent.forget()
		ended = append(ended[:0], cn.group...)
		// The places are free before the callers hear of it, so that one caller after
		// another needs one connection.
		c.pool.release(cn, usable)
		for _, j := range ended {
			j.done <- j.result // from here on j is its caller's
		}
		clear(ended)
	}
}

// alone runs the group that cn holds, which is j's call, in its caller's goroutine:
// a caller without company waits for no other goroutine. If he leaves, the
// connection's goroutine reads the reply and drops it.
func (c *Client) alone(cn *connection, j *job) certainty.Result {
	unhook := cn.wire.interruptedBy(j.ctx)
	usable, over := c.prepare(cn)
	for !over {
		cn.sent.receive(cn.wire)
		if cn.wire.interrupted() {
			cn.left = true
			cn.work <- struct{}{}
			return certainty.Result{Fate: certainty.Unanswered, CallerLeft: true, Err: j.ctx.Err()}
		}
		usable, over = c.advance(cn)
	}
	unhook()
	cn.sent.forget()
	result := j.result
	c.pool.release(cn, usable)
	j.free()
	return result
}

// errBroken is of a call whose connection broke before the call was written.
var errBroken = &sendError{err: errors.New("the connection broke before the call was sent")}

// prepare sends the calls that cn holds and that are still due. It is over if there
// is no reply to wait for; then cn may be used again or not.
func (c *Client) prepare(cn *connection) (usable, over bool) {
	g := &cn.sent
	var told *atomic.Bool
	if len(cn.group) > 1 {
		told = new(atomic.Bool) // a caller who leaves may ask for it after the group has ended
	}
	for _, j := range cn.group {
		j.told = told
		switch {
		case !j.taken.CompareAndSwap(false, true): // its caller has left
		case !j.terms.leaveTime(j.ctx):
			j.result = certainty.Result{Fate: certainty.Refused, Refusal: certainty.Deadline, Err: errShortDeadline}
		case j.call.asking: // it has no company
			return runAsking(cn, j), true
		default:
			g.add(j, !c.config.node && !c.apart.Load())
		}
	}
	if len(g.commands) == 0 {
		return true, true
	}
	return cn.write()
}

// runAsking runs a call on a slot that is still coming to the node.
func runAsking(cn *connection, j *job) (usable bool) {
	sender := callSender{connection: cn, terms: j.terms}
	j.result = resultOf(executor.Structured(j.ctx, sender, j.call.Program, j.call.keys(), j.call.Args))
	return j.result.Err == nil && !j.result.IsReadOnly()
}

// write sends the group. It is over, and cn of no more use, if that failed.
func (cn *connection) write() (usable, over bool) {
	g := &cn.sent
	g.encode()
	cn.wire.begin(g.timeout())
	if g.err = cn.wire.send(g.out); g.err != nil {
		g.settle(cn.wire)
		return false, true
	}
	return true, false
}

// advance settles the group after its replies have come, or failed to, and sends what
// the server could not run in that form.
func (c *Client) advance(cn *connection) (usable, over bool) {
	g := &cn.sent
	usable = g.settle(cn.wire)
	if g.bySource {
		return usable, true
	}
	if !usable {
		g.unsend()
		return false, true
	}
	if g.keepUnrun(&c.apart) {
		return cn.write()
	}
	return true, true
}
