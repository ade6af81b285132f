package coordination

import (
	"context"
	"errors"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/executor"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
)

// Call is one run of a program on one key.
type Call struct {
	Program program.Program
	Key     string
	Args    []string
}

// job is a call on its way, with the caller who waits for it.
type job struct {
	ctx  context.Context
	call Call
	done chan certainty.Result // takes one without a reader
}

var (
	errDead   = errors.New("the server could not be reached or did not answer in time")
	errSilent = errors.New("nothing was learnt about the server")
)

// Dispatch runs call at most once and says how far it got. ctx needs a deadline
// that leaves a command's time. Its end does not stop a command that was
// written: the caller leaves with Unanswered, and the reply is read and dropped.
func (c *Client) Dispatch(ctx context.Context, call Call) certainty.Result {
	if !enoughTime(ctx, c.config.CommandTimeout) {
		return certainty.Result{Fate: certainty.Refused, Refusal: certainty.Deadline, Err: errShortDeadline}
	}
	report, err := c.breaker.Allow()
	if err != nil {
		return certainty.Result{Fate: certainty.Refused, Refusal: certainty.BreakerOpen, Err: err}
	}
	result := c.admit(ctx, call)
	report(vitalities[result.Vitality()])
	return result
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
	if report, err := c.breaker.Allow(); err == nil {
		report(errDead)
	}
}

// admit waits for a place in flight, then runs call there. A connection that
// turns out to have been closed by the server before anything was written is
// replaced within the same wait.
func (c *Client) admit(ctx context.Context, call Call) certainty.Result {
	deadline, _ := ctx.Deadline()
	until := time.Now().Add(c.config.AdmissionWait)
	if latest := deadline.Add(-c.config.CommandTimeout); latest.Before(until) {
		until = latest
	}
	for {
		cn, refused := c.pool.acquire(ctx, until)
		if refused != nil {
			return certainty.Result{Fate: certainty.Refused, Refusal: refused.why, Err: refused.err}
		}
		result := await(ctx, cn, call)
		if !unsent(result) {
			return result
		}
	}
}

// await hands call to cn's goroutine and waits for the end of it or of ctx.
func await(ctx context.Context, cn *connection, call Call) certainty.Result {
	j := &job{ctx: ctx, call: call, done: make(chan certainty.Result, 1)}
	cn.jobs <- j
	select {
	case result := <-j.done:
		return result
	case <-ctx.Done():
	}
	select {
	case result := <-j.done:
		return result
	default:
		return certainty.Result{Fate: certainty.Unanswered, CallerLeft: true, Err: ctx.Err()}
	}
}

// serve is the goroutine of one pooled connection: it runs one call after
// another until the pool drops the connection.
func (c *Client) serve(cn *connection) {
	defer cn.close()
	for j := range cn.jobs {
		sender := callSender{connection: cn, timeout: c.config.CommandTimeout}
		result := resultOf(executor.Structured(j.ctx, sender, j.call.Program, j.call.Key, j.call.Args))
		usable := result.Err == nil || errors.Is(result.Err, errShortDeadline)
		// The place is free before the caller hears of it, so that one caller
		// after another needs one connection.
		c.pool.release(cn, usable)
		j.done <- result
	}
}
