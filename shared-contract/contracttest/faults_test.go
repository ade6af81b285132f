package contracttest_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/contracttest"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// linkFault is what a link does to an exchange.
type linkFault int

const (
	sound linkFault = iota
	lostReply
	halfReply
	resetUnsent
	garbledReply
	refusing
	silent
)

// link carries evaluations to a store, and can break.
type link struct {
	store *store
	mu    sync.Mutex
	fault linkFault
}

func (l *link) set(fault linkFault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = fault
}

// take is the fault that strikes this exchange. Those of one reply are gone then.
func (l *link) take() linkFault {
	l.mu.Lock()
	defer l.mu.Unlock()
	fault := l.fault
	if fault != refusing && fault != silent {
		l.fault = sound
	}
	return fault
}

// exchange is one dispatch: the reply if there is one, and what went wrong.
func (l *link) exchange(ctx context.Context, p ratelimit.Policy, req ratelimit.Request) (model.Reply, linkFault) {
	fault := l.take()
	switch fault {
	case resetUnsent, refusing:
		return model.Reply{}, fault
	case silent:
		<-ctx.Done()
		return model.Reply{}, fault
	default:
		return l.store.step(p, req), fault
	}
}

// faultRig is a port over a link. rules is how the port reads what went wrong.
type faultRig struct {
	*link
	memoryPort
	rules portRules
}

// portRules answer for one evaluation; ask dispatches it.
type portRules func(ctx context.Context, req ratelimit.Request, ask func(context.Context) (ratelimit.Decision, linkFault)) ratelimit.Outcome

func (r *faultRig) Port() ratelimit.EdgeRateLimitPort { return r }
func (r *faultRig) LoseNextReply()                    { r.set(lostReply) }
func (r *faultRig) HalveNextReply()                   { r.set(halfReply) }
func (r *faultRig) ResetNextBeforeExecution()         { r.set(resetUnsent) }
func (r *faultRig) GarbleNextReply()                  { r.set(garbledReply) }
func (r *faultRig) Refuse()                           { r.set(refusing) }
func (r *faultRig) Silence()                          { r.set(silent) }
func (r *faultRig) Heal()                             { r.set(sound) }

func (r *faultRig) Charged(policyID, subject string) int64 {
	return r.link.store.charged(policyID, subject)
}

func (r *faultRig) Evaluate(ctx context.Context, req ratelimit.Request) ratelimit.Outcome {
	if refusal, refused := r.refusal(ctx, req); refused {
		return refusal
	}
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond) // the command timeout
	defer cancel()
	p := r.policies[req.PolicyID]
	return r.rules(ctx, req, func(ctx context.Context) (ratelimit.Decision, linkFault) {
		reply, fault := r.exchange(ctx, p, req)
		return decisionOf(p, reply), fault
	})
}

// faithfully claims no more than is known.
func faithfully(ctx context.Context, req ratelimit.Request, ask func(context.Context) (ratelimit.Decision, linkFault)) ratelimit.Outcome {
	decision, fault := ask(ctx)
	switch fault {
	case sound:
		return ratelimit.Evaluated{Decision: decision}.Outcome()
	case garbledReply:
		return ratelimit.Incompatible{PolicyID: req.PolicyID, Category: ratelimit.IncompatibleReply}.Outcome()
	case refusing:
		return ratelimit.Unavailable{PolicyID: req.PolicyID, Category: ratelimit.UnavailableConnection}.Outcome()
	default:
		return ratelimit.Indeterminate{PolicyID: req.PolicyID}.Outcome()
	}
}

func faultHarness(rules portRules) contracttest.FaultHarness {
	return contracttest.FaultHarness{New: func(_ *testing.T, policies ...ratelimit.Policy) contracttest.FaultRig {
		s := newStore(&clock{millis: startMillis})
		return &faultRig{&link{store: s}, newMemoryPort(s, policies), rules}
	}}
}

func TestRunFaults_aFaithfulPortPasses(t *testing.T) {
	contracttest.RunFaults(t, faultHarness(faithfully))
}

// claiming answers faithfully, but for one fault.
func claiming(fault linkFault, claim func(req ratelimit.Request, d ratelimit.Decision) ratelimit.Outcome) portRules {
	return func(ctx context.Context, req ratelimit.Request, ask func(context.Context) (ratelimit.Decision, linkFault)) ratelimit.Outcome {
		decision, struck := ask(ctx)
		if struck == fault {
			return claim(req, decision)
		}
		return faithfully(ctx, req, func(context.Context) (ratelimit.Decision, linkFault) { return decision, struck })
	}
}

func unavailable(req ratelimit.Request, _ ratelimit.Decision) ratelimit.Outcome {
	return ratelimit.Unavailable{PolicyID: req.PolicyID, Category: ratelimit.UnavailableConnection}.Outcome()
}

func decides(_ ratelimit.Request, d ratelimit.Decision) ratelimit.Outcome {
	return ratelimit.Evaluated{Decision: d}.Outcome()
}

func allows(ratelimit.Request, ratelimit.Decision) ratelimit.Outcome {
	return ratelimit.Evaluated{Decision: ratelimit.Decision{Allowed: true}}.Outcome()
}

// retrying asks again after a fault, and answers with what comes last.
func retrying(fault linkFault) portRules {
	return func(ctx context.Context, req ratelimit.Request, ask func(context.Context) (ratelimit.Decision, linkFault)) ratelimit.Outcome {
		return faithfully(ctx, req, func(ctx context.Context) (ratelimit.Decision, linkFault) {
			decision, struck := ask(ctx)
			if struck == fault {
				return ask(ctx)
			}
			return decision, struck
		})
	}
}

// retryingInVain asks again after a fault, and answers with what came first.
func retryingInVain(fault linkFault) portRules {
	return func(ctx context.Context, req ratelimit.Request, ask func(context.Context) (ratelimit.Decision, linkFault)) ratelimit.Outcome {
		return faithfully(ctx, req, func(ctx context.Context) (ratelimit.Decision, linkFault) {
			decision, struck := ask(ctx)
			if struck == fault {
				ask(ctx)
			}
			return decision, struck
		})
	}
}

const (
	lostSays    = "a_lost_reply_is_Indeterminate_and_its_cost_is_charged_once"
	halfSays    = "half_a_reply_is_Indeterminate_and_its_cost_is_charged_once"
	resetSays   = "a_reset_before_execution_is_Indeterminate_and_is_not_sent_again"
	garbledSays = "a_garbled_reply_is_Incompatible_REPLY_and_its_cost_is_charged_once"
	refusedSays = "a_refused_connection_is_Unavailable_CONNECTION_and_charges_nothing"
	silentSays  = "a_silent_server_never_allows_and_holds_no_caller_beyond_the_deadline"
	leavesSays  = "a_caller_who_leaves_a_silent_server_is_answered_at_once"
)

var brokenRules = map[string]struct {
	seenBy string
	rules  portRules
}{
	"repeats after a lost reply":                    {lostSays, retrying(lostReply)},
	"repeats after a lost reply and keeps quiet":    {lostSays, retryingInVain(lostReply)},
	"calls a lost reply unavailable":                {lostSays, claiming(lostReply, unavailable)},
	"decides by half a reply":                       {halfSays, claiming(halfReply, decides)},
	"repeats after half a reply":                    {halfSays, retrying(halfReply)},
	"calls half a reply incompatible":               {halfSays, claiming(halfReply, incompatible)},
	"repeats after a reset":                         {resetSays, retrying(resetUnsent)},
	"repeats after a reset and keeps quiet":         {resetSays, retryingInVain(resetUnsent)},
	"calls a reset unavailable":                     {resetSays, claiming(resetUnsent, unavailable)},
	"decides by a garbled reply":                    {garbledSays, claiming(garbledReply, decides)},
	"calls a garbled reply unavailable":             {garbledSays, claiming(garbledReply, unavailable)},
	"repeats after a garbled reply and keeps quiet": {garbledSays, retryingInVain(garbledReply)},
	"allows when it is refused":                     {refusedSays, claiming(refusing, allows)},
	"calls a refusal incompatible":                  {refusedSays, claiming(refusing, incompatible)},
	"allows when nobody answers":                    {silentSays, claiming(silent, allows)},
	"waits for ever when nobody answers":            {silentSays, patiently},
	"waits on when its caller has left":             {leavesSays, patiently},
}

func incompatible(req ratelimit.Request, _ ratelimit.Decision) ratelimit.Outcome {
	return ratelimit.Incompatible{PolicyID: req.PolicyID, Category: ratelimit.IncompatibleReply}.Outcome()
}

// patiently outwaits the caller's deadline.
func patiently(_ context.Context, req ratelimit.Request, ask func(context.Context) (ratelimit.Decision, linkFault)) ratelimit.Outcome {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return faithfully(ctx, req, ask)
}

func init() {
	for name, each := range brokenRules {
		brokenSuites[name] = func(t *testing.T) { contracttest.RunFaults(t, faultHarness(each.rules)) }
	}
}

func TestRunFaults_aBrokenPortFails(t *testing.T) {
	for name, each := range brokenRules {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, failed := failures(t, name)
			if !failed || !strings.Contains(output, "--- FAIL: Broken/") || !seen(output, each.seenBy) {
				t.Errorf("want a failure of %q, got failed %t:\n%s", each.seenBy, failed, output)
			}
		})
	}
}
