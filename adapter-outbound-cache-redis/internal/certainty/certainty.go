// Package certainty says what a failure proves. It turns how far one dispatch
// got into the port's outcome, by one table.
//
// The one rule that matters: Unavailable claims that nothing was charged, so
// only what proves it maps there. From the first byte written until the reply
// is complete, everything is Indeterminate.
package certainty

import (
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// Fate is how far a dispatch got.
type Fate uint8

// The fates. The zero Fate claims the least.
const (
	Unanswered Fate = iota // something was written and no complete reply came
	Refused                // nothing was written
	Answered               // a complete reply came; Raw holds it
)

// Refusal is why nothing was written.
type Refusal uint8

// The refusals.
const (
	Deadline    Refusal = iota // less time left than one command may take, or no deadline
	Overloaded                 // every place in flight stayed taken for the admission wait
	Dialing                    // the wait ended while a dial was still in progress
	Unreachable                // a dial or its handshake failed, or the client is closed
	BreakerOpen                // the breaker refuses
	Credentials                // the server refused user, password or a right
	Server                     // the server answered the handshake that it cannot serve now
	Program                    // the server is older than the programs, or cannot run them
)

// Result is how far one dispatch got.
type Result struct {
	Fate       Fate
	Refusal    Refusal // when Refused
	Raw        []byte  // when Answered; nil when the reply could not be read
	TimedOut   bool    // when Unanswered: the fixed command timeout passed
	Echo       bool    // when Unanswered: another call of the same connection tells of it
	CallerLeft bool    // the caller did not wait for the end, or left the line for a connection
	Err        error   // the cause, for operators only; may be nil
}

// refusals is the first half of the table: nothing was written.
var refusals = map[Refusal]ratelimit.UnavailableCategory{
	Deadline:    ratelimit.UnavailableDeadline,
	Overloaded:  ratelimit.UnavailableOverloaded,
	Dialing:     ratelimit.UnavailableConnection,
	Unreachable: ratelimit.UnavailableConnection,
	BreakerOpen: ratelimit.UnavailableConnection,
	Credentials: ratelimit.UnavailableCredentials,
	Server:      ratelimit.UnavailableServer,
}

// serverErrors is the second half: error replies that prove that nothing ran.
// Redis checks all of them before a script starts or at its first write.
var serverErrors = map[string]Refusal{
	"LOADING":     Server,
	"READONLY":    Server,
	"MASTERDOWN":  Server,
	"CLUSTERDOWN": Server,
	"TRYAGAIN":    Server,
	"MOVED":       Server,
	"ASK":         Server,
	"BUSY":        Server,
	"OOM":         Server,
	"MISCONF":     Server,
	"NOREPLICAS":  Server,
	"NOAUTH":      Credentials,
	"NOPERM":      Credentials,
	"WRONGPASS":   Credentials,
}

// OfServerError is what an error reply's code proves: a refusal, Program for
// every code that proves nothing.
func OfServerError(code string) Refusal {
	if refusal, ok := serverErrors[code]; ok {
		return refusal
	}
	return Program
}

// Outcome is the outcome of r under p.
func Outcome(p ratelimit.Policy, r Result) ratelimit.Outcome {
	outcome, _ := Read(p, r)
	return outcome
}

// Read is the outcome of r under p, and whether it is a decision by a clock that was
// not clamped: only then its retry-after is exact.
func Read(p ratelimit.Policy, r Result) (outcome ratelimit.Outcome, exact bool) {
	switch r.Fate {
	case Refused:
		return refused(p, r.Refusal), false
	case Answered:
		return answered(p, r.Raw)
	default:
		return ratelimit.Indeterminate{PolicyID: p.ID()}.Outcome(), false
	}
}

func refused(p ratelimit.Policy, refusal Refusal) ratelimit.Outcome {
	category, ok := refusals[refusal]
	if !ok {
		return incompatible(p, ratelimit.IncompatibleProgram)
	}
	return ratelimit.Unavailable{PolicyID: p.ID(), Category: category}.Outcome()
}

func answered(p ratelimit.Policy, raw []byte) (outcome ratelimit.Outcome, exact bool) {
	if failed, ok := reply.AsServerError(raw); ok {
		return refused(p, OfServerError(failed.Code)), false
	}
	r, err := reply.Decode(raw, p.Limit())
	if err != nil {
		return incompatible(p, ratelimit.IncompatibleReply), false
	}
	switch r.Status {
	case model.Allowed, model.Denied:
		return ratelimit.Evaluated{Decision: decisionOf(p, r)}.Outcome(), r.EffectiveNowMillis == r.ServerNowMillis
	case model.ClockUnsafe:
		return ratelimit.Unavailable{
			PolicyID: p.ID(), RetryAfter: ratelimit.Span(r.RetryAfterMillis), Category: ratelimit.UnavailableClock,
		}.Outcome(), false
	case model.StateIncompatible:
		return incompatible(p, ratelimit.IncompatibleState), false
	default:
		return incompatible(p, ratelimit.IncompatibleProgram), false
	}
}

func decisionOf(p ratelimit.Policy, r model.Reply) ratelimit.Decision {
	return ratelimit.Decision{
		Allowed:          r.Status == model.Allowed,
		Limit:            r.Limit,
		Remaining:        r.Remaining,
		RetryAfter:       ratelimit.Span(r.RetryAfterMillis),
		ObservedAtMillis: r.ServerNowMillis,
		ResetAtMillis:    r.ResetAtMillis,
		PolicyID:         p.ID(),
		PolicyRevision:   p.Revision(),
		Source:           ratelimit.GlobalRedis,
		Certainty:        p.Certainty(),
	}
}

func incompatible(p ratelimit.Policy, category ratelimit.IncompatibleCategory) ratelimit.Outcome {
	return ratelimit.Incompatible{PolicyID: p.ID(), Category: category}.Outcome()
}
