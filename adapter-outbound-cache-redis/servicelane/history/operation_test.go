package history_test

import (
	"fmt"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// call is what a client asks for.
type call struct {
	Limiter string // a policy's id, or slidingLog
	Subject string // with the limiter, whose state it is: a digest, or a tenant
	User    int    // of the log: from 1, or 0 for a call of the tenant alone
	Cost    int64  // of the edge port
}

// slidingLog is the limiter of the inbound web.
const slidingLog = "sliding-log"

// fate is how a call ended.
type fate int

const (
	answered fate = iota // by Decision or Verdict
	unknown              // it may have been charged
	refused              // it was not charged
	wrong                // none of these; it has no place in any history
)

// operation is a call as its client saw it. Start was read before the call and End after it, by clock.
type operation struct {
	Client     int
	Call       call
	Start, End int64
	Fate       fate
	Why        string // of a call that was not answered
	Decision   ratelimit.Decision
	Verdict    slidinglog.Verdict

	// Turn counts from 0 the unknown calls that ask the same of the same state, by Start.
	Turn int
}

func (o operation) allowed() bool { return o.Decision.Allowed || o.Verdict.Allowed }

// String is an operation in one line.
func (o operation) String() string {
	asked := fmt.Sprintf("client %d, %s of %s: user %d, cost %d", o.Client, o.Call.Limiter, o.Call.Subject, o.Call.User, o.Call.Cost)
	when := fmt.Sprintf("%d to %d us", o.Start/1000, o.End/1000)
	switch {
	case o.Fate != answered:
		return fmt.Sprintf("%s, %s: %s", asked, when, o.Why)
	case o.Call.Limiter == slidingLog:
		return fmt.Sprintf("%s, %s: %+v", asked, when, o.Verdict)
	default:
		d := o.Decision
		return fmt.Sprintf("%s, %s: allowed %t, remaining %d, retry after %v, at %d, reset at %d", asked, when, d.Allowed, d.Remaining,
			d.RetryAfter, d.ObservedAtMillis, d.ResetAtMillis)
	}
}

// decided notes an outcome of the edge port.
func (o *operation) decided(outcome ratelimit.Outcome) {
	ratelimit.Match(outcome,
		func(e ratelimit.Evaluated) struct{} { o.Fate, o.Decision = answered, e.Decision; return struct{}{} },
		func(u ratelimit.Unavailable) struct{} { o.failed(refused, string(u.Category)); return struct{}{} },
		func(ratelimit.Indeterminate) struct{} { o.failed(unknown, "indeterminate"); return struct{}{} },
		func(i ratelimit.Incompatible) struct{} { o.failed(wrong, string(i.Category)); return struct{}{} })
}

func (o *operation) failed(f fate, why string) { o.Fate, o.Why = f, why }
