package coordination

import (
	"context"
	"errors"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
)

// Call is one run of a program.
type Call struct {
	Program program.Program
	Keys    [2]string // as many as Program takes
	Args    []string  // nobody changes them while the call lives

	// Batch, if set, lets the call run together with others of the same Batch. It is
	// not used on a server that has slots, as the keys are of many.
	Batch *Batch

	// asking lets a cluster's node run it on a slot that is still coming to it.
	asking bool
}

// keys are those that the program takes.
func (c *Call) keys() []string { return c.Keys[:c.Program.Keys] }

// Batch is a program that runs several calls of one key each: KEYS are theirs, ARGV
// are all but the last of the arguments that they share, then the last of each. It
// answers an array of what each alone would be answered.
type Batch struct {
	Program program.Program
	Shared  []string
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

// admit has call carried. A connection that turns out to have been closed by the
// server before anything was written is replaced within the same wait.
func (c *Client) admit(ctx context.Context, terms terms, call Call) certainty.Result {
	for {
		if result := c.carry(ctx, terms, call); !unsent(result) {
			return result
		}
	}
}
