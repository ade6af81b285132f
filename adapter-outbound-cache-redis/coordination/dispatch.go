package coordination

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/executor"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
)

// Call is one run of a program.
type Call struct {
	Program program.Program
	Keys    []string
	Args    []string

	// asking lets a cluster's node run it on a slot that is still coming to it.
	asking bool
}

// job is a call on its way, with the caller who waits for it.
type job struct {
	ctx   context.Context
	terms terms
	call  Call
	done  chan certainty.Result // takes one without a reader

	// taken is set by the connection before it sends, or by the caller who leaves
	// before that: whoever is first.
	taken atomic.Bool
}

var (
	errDead   = errors.New("the server could not be reached or did not answer in time")
	errSilent = errors.New("nothing was learnt about the server")
)

// Dispatch runs call at most once and says how far it got. ctx needs a deadline
// that leaves a command's time, unless the client has one budget. Its end does not
// stop a command that was written: the caller leaves with Unanswered, and the
// reply is read and dropped.
func (c *Client) Dispatch(ctx context.Context, call Call) certainty.Result {
	return c.dispatch(ctx, c.config.termsOf(ctx), call)
}

func (c *Client) dispatch(ctx context.Context, terms terms, call Call) certainty.Result {
	if !terms.leaveTime(ctx) {
		return certainty.Result{Fate: certainty.Refused, Refusal: certainty.Deadline, Err: errShortDeadline}
	}
	report, err := c.breaker.Load().Allow()
	if err != nil {
		return certainty.Result{Fate: certainty.Refused, Refusal: certainty.BreakerOpen, Err: err}
	}
	result := c.admit(ctx, terms, call)
	if result.DoubtsClient() && !(c.config.node && redirects(codeOf(result))) {
		c.doubted.Store(true)
	}
	vitality := c.vitalityOf(result)
	if vitality == certainty.Silent && c.probing.Load() {
		vitality = certainty.Dead // a probe that learnt nothing: the next one after the interval
	}
	report(vitalities[vitality])
	return result
}

// vitalityOf is what result tells the breaker. A node that says where the keys are,
// or are going, is well.
func (c *Client) vitalityOf(result certainty.Result) certainty.Vitality {
	switch {
	case redirects(codeOf(result)):
		return certainty.Alive
	case c.config.EveryFailure:
		return result.Outage()
	default:
		return result.Vitality()
	}
}

// vitalities are what the breaker is told: it excludes errSilent.
var vitalities = map[certainty.Vitality]error{
	certainty.Alive: nil, certainty.Dead: errDead, certainty.Silent: errSilent,
}

// countFailedDial tells the breaker of a dial that failed after every caller had
// stopped waiting for it.
func (c *Client) countFailedDial(refused *refusal) {
	if refused.why != certainty.Unreachable {
		return
	}
	if report, err := c.breaker.Load().Allow(); err == nil {
		report(errDead)
	}
}

// admit waits for a place in flight, then runs call there. A connection that
// turns out to have been closed by the server before anything was written is
// replaced within the same wait.
func (c *Client) admit(ctx context.Context, terms terms, call Call) certainty.Result {
	for {
		cn, refused := c.pool.acquire(ctx, terms.admitUntil)
		if refused != nil {
			return certainty.Result{Fate: certainty.Refused, Refusal: refused.why, CallerLeft: ctx.Err() != nil, Err: refused.err}
		}
		result := await(cn, &job{ctx: ctx, terms: terms, call: call, done: make(chan certainty.Result, 1)})
		if !unsent(result) {
			return result
		}
	}
}

// await hands j to cn's goroutine and waits for the end of it or of its caller.
func await(cn *connection, j *job) certainty.Result {
	cn.jobs <- j
	select {
	case result := <-j.done:
		return result
	case <-j.ctx.Done():
	}
	select {
	case result := <-j.done:
		return result
	default:
	}
	if j.taken.CompareAndSwap(false, true) {
		return certainty.Result{Fate: certainty.Refused, Refusal: certainty.Deadline, Err: j.ctx.Err()}
	}
	return certainty.Result{Fate: certainty.Unanswered, CallerLeft: true, Err: j.ctx.Err()}
}

// serve is the goroutine of one pooled connection: it runs one call after
// another until the pool drops the connection.
func (c *Client) serve(cn *connection) {
	defer cn.close()
	for j := range cn.jobs {
		if !j.taken.CompareAndSwap(false, true) {
			c.pool.release(cn, true)
			continue
		}
		sender := callSender{connection: cn, terms: j.terms, asking: j.call.asking}
		result := resultOf(executor.Structured(j.ctx, sender, j.call.Program, j.call.Keys, j.call.Args))
		usable := (result.Err == nil || errors.Is(result.Err, errShortDeadline) && !j.call.asking) && !result.IsReadOnly()
		// The place is free before the caller hears of it, so that one caller
		// after another needs one connection.
		c.pool.release(cn, usable)
		j.done <- result
	}
}
