package contracttest

import (
	"context"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// FaultHarness is what [RunFaults] needs to know of a provider.
type FaultHarness struct {
	// New makes a rig with a port that serves exactly policies. It is called
	// for each promise; what it opens, it closes by t.Cleanup.
	New func(t *testing.T, policies ...ratelimit.Policy) FaultRig
}

// FaultRig is a port and the link between it and its server, which the rig can
// break. Each fault of a next reply strikes the reply to the next evaluation and
// no other: not the greeting of a connection, not a readiness check. The
// server's clock is real, or stands still.
type FaultRig interface {
	// Port is the provider's port, the same at every call. It gives up on a
	// silent server within 2 seconds, and recovers within 15.
	Port() ratelimit.EdgeRateLimitPort

	// LoseNextReply lets the server execute the next evaluation and swallows
	// its reply.
	LoseNextReply()
	// HalveNextReply lets the server execute the next evaluation, passes the
	// first bytes of its reply and then ends the connection.
	HalveNextReply()
	// ResetNextBeforeExecution takes the next evaluation off the provider and
	// ends the connection, so that the server never sees it.
	ResetNextBeforeExecution()
	// GarbleNextReply lets the server execute the next evaluation and passes a
	// complete reply that is not of the provider's protocol.
	GarbleNextReply()

	// Refuse ends all connections and refuses new ones, until Heal.
	Refuse()
	// Silence accepts connections and bytes and never answers, until Heal. It
	// may let the server execute what it took.
	Silence()
	// Heal ends all faults.
	Heal()

	// Charged is what the server itself says that it has charged to a subject
	// under a policy, in units of cost.
	Charged(policyID, subjectDigest string) int64
}

const (
	faultDeadline = 2 * time.Second  // what a caller gives to one evaluation
	faultGrace    = time.Second      // how much later a busy machine may answer
	recoveryTime  = 15 * time.Second // how long a port may take to recover
	pollEvery     = 20 * time.Millisecond
)

// RunFaults holds a provider against what the contract promises about failures:
// a charge happens once or not at all, an outcome claims no more than is known,
// nothing but a decision ever allows, and a port recovers by itself. Each
// promise is a subtest, named as a sentence.
func RunFaults(t *testing.T, h FaultHarness) {
	for _, promise := range []struct {
		name string
		hold func(f faultCheck)
	}{
		{"a lost reply is Indeterminate and its cost is charged once", func(f faultCheck) {
			f.strike(FaultRig.LoseNextReply, indeterminate, faultCost)
		}},
		{"half a reply is Indeterminate and its cost is charged once", func(f faultCheck) {
			f.strike(FaultRig.HalveNextReply, indeterminate, faultCost)
		}},
		{"a reset before execution is Indeterminate and is not sent again", func(f faultCheck) {
			f.strike(FaultRig.ResetNextBeforeExecution, indeterminate, 0)
		}},
		{"a garbled reply is Incompatible REPLY and its cost is charged once", func(f faultCheck) {
			f.strike(FaultRig.GarbleNextReply, garbled, faultCost)
		}},
		{"a refused connection is Unavailable CONNECTION and charges nothing", faultCheck.refuse},
		{"a silent server never allows and holds no caller beyond the deadline", faultCheck.silence},
		{"a caller who leaves a silent server is answered at once", faultCheck.leave},
	} {
		t.Run(promise.name, func(t *testing.T) {
			var policies []ratelimit.Policy
			for _, s := range shapes {
				policies = append(policies, policyOf(s.slow(faultLimit), faultLimit))
			}
			settle(t, func(a *attempt) {
				rig := h.New(t, policies...)
				f := faultCheck{attempt: a, t: t, rig: rig, port: rig.Port(), policies: policies}
				f.heal()
				promise.hold(f)
			})
		})
	}
}

const (
	faultLimit int64 = 100
	faultCost  int64 = 3 // of every evaluation that a fault strikes
)

var (
	indeterminate = answer{kind: ratelimit.KindIndeterminate}
	garbled       = answer{kind: ratelimit.KindIncompatible, category: ratelimit.Category(ratelimit.IncompatibleReply)}
	refused       = answer{kind: ratelimit.KindUnavailable, category: ratelimit.Category(ratelimit.UnavailableConnection)}
)

// faultCheck is one promise being held, on a rig of its own.
type faultCheck struct {
	*attempt
	t        *testing.T
	rig      FaultRig
	port     ratelimit.EdgeRateLimitPort
	policies []ratelimit.Policy
}

// strike lets one fault strike one evaluation by each policy, after one that
// was decided and before one that is, and demands the outcome and what the
// server charged for it.
func (f faultCheck) strike(fault func(FaultRig), want answer, wantCharged int64) {
	for _, p := range f.policies {
		subject := newSubject()
		f.expectAllowed(p, subject, 1, 1)

		fault(f.rig)
		if got := f.evaluate(p, subject, faultCost); !got.is(want) {
			f.faultf("%s: got %v, want %v", p.ID(), got, want)
		}
		f.expectCharged(p, subject, 1+wantCharged)

		f.heal()
		f.expectCharged(p, subject, 1+wantCharged)
		f.expectAllowed(p, subject, 2, 3+wantCharged)
	}
}

func (f faultCheck) refuse() {
	subject := newSubject()
	for _, p := range f.policies {
		f.expectAllowed(p, subject, 1, 1)
	}
	f.rig.Refuse()
	// A connection that was cut may have been written to before the port knew.
	f.poll("refuse as CONNECTION", func() bool {
		got := f.evaluate(f.policies[0], newSubject(), faultCost)
		if got.kind != ratelimit.KindIndeterminate && got.kind != ratelimit.KindUnavailable {
			f.t.Fatalf("got %v, want %v", got, refused)
		}
		return got.is(refused)
	})
	for _, p := range f.policies {
		for range 10 {
			got := f.evaluate(p, subject, faultCost)
			if !got.is(refused) {
				f.faultf("%s: got %v, want %v", p.ID(), got, refused)
			}
			if got.policyID != p.ID() || got.retryAfter <= 0 {
				f.faultf("got policy id %q and retry-after %v, want %q and more than 0", got.policyID, got.retryAfter, p.ID())
			}
		}
	}
	f.heal()
	for _, p := range f.policies {
		f.expectCharged(p, subject, 1)
		f.expectAllowed(p, subject, 2, 3)
	}
}

func (f faultCheck) silence() {
	for _, p := range f.policies {
		f.askSilence(context.Background(), p)
	}
}

func (f faultCheck) leave() {
	for _, p := range f.policies {
		leaving, leave := context.WithCancel(context.Background())
		time.AfterFunc(pollEvery, leave)
		f.askSilence(leaving, p)
	}
}

// askSilence asks a server that has fallen silent, and demands that what it
// charges is no more than the failure admits to.
func (f faultCheck) askSilence(parent context.Context, p ratelimit.Policy) {
	f.t.Helper()
	subject := newSubject()
	f.expectAllowed(p, subject, 1, 1)
	f.rig.Silence()
	mayBeCharged := f.evaluateUnanswered(parent, p, subject)
	f.heal()
	if charged := f.charged(p, subject); charged < 1 || charged > 1+mayBeCharged {
		f.faultf("%s: the server charged %d, want 1 to %d", p.ID(), charged, 1+mayBeCharged)
	}
	f.expectAllowed(p, newSubject(), 2, 2)
}

// evaluateUnanswered asks a silent server and demands a failure, in time. It
// returns what the failure admits to may have been charged.
func (f faultCheck) evaluateUnanswered(parent context.Context, p ratelimit.Policy, subject string) int64 {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(parent, faultDeadline)
	defer cancel()
	answered := make(chan answer, 1)
	go func() {
		answered <- read(f.port.Evaluate(ctx, ratelimit.Request{PolicyID: p.ID(), SubjectDigest: subject, Cost: faultCost}))
	}()
	var got answer
	select {
	case got = <-answered:
	case <-ctx.Done():
		select {
		case got = <-answered:
		case <-time.After(faultGrace):
			f.t.Fatalf("no answer %v after the caller's context had ended", faultGrace)
		}
	}
	switch got.kind {
	case ratelimit.KindIndeterminate:
		return faultCost
	case ratelimit.KindUnavailable:
		return 0
	default:
		f.t.Fatalf("got %v, want indeterminate or unavailable", got)
		return 0
	}
}

func (f faultCheck) evaluate(p ratelimit.Policy, subject string, cost int64) answer {
	ctx, cancel := context.WithTimeout(context.Background(), faultDeadline)
	defer cancel()
	got := read(f.port.Evaluate(ctx, ratelimit.Request{PolicyID: p.ID(), SubjectDigest: subject, Cost: cost}))
	if got.kind == ratelimit.KindEvaluated {
		f.watch(question{p, subject}, got.decision)
	}
	return got
}

// expectAllowed demands an allow, and that the server then has charged
// wantCharged in all, which the decision's remaining agrees with.
func (f faultCheck) expectAllowed(p ratelimit.Policy, subject string, cost, wantCharged int64) {
	f.t.Helper()
	got := f.evaluate(p, subject, cost)
	if got.kind != ratelimit.KindEvaluated || !got.decision.Allowed || got.decision.Remaining != faultLimit-wantCharged {
		f.faultf("%s: got %v, want %v", p.ID(), got, allowed(faultLimit-wantCharged))
	}
	f.expectCharged(p, subject, wantCharged)
}

func (f faultCheck) expectCharged(p ratelimit.Policy, subject string, want int64) {
	f.t.Helper()
	if got := f.charged(p, subject); got != want {
		f.faultf("%s: the server charged %d, want %d", p.ID(), got, want)
	}
}

func (f faultCheck) charged(p ratelimit.Policy, subject string) int64 {
	return f.rig.Charged(p.ID(), subject)
}

// heal ends all faults and waits until the port decides again. It asks about
// other subjects than the checks do.
func (f faultCheck) heal() {
	f.t.Helper()
	f.rig.Heal()
	f.poll("decide", func() bool {
		return f.evaluate(f.policies[0], newSubject(), 1).kind == ratelimit.KindEvaluated
	})
}

// poll asks until the port does what it must, and no longer than it may take.
func (f faultCheck) poll(what string, does func() bool) {
	f.t.Helper()
	over := time.NewTimer(recoveryTime)
	defer over.Stop()
	next := time.NewTicker(pollEvery)
	defer next.Stop()
	for !does() {
		select {
		case <-next.C:
		case <-over.C:
			f.t.Fatalf("the port did not %s within %v", what, recoveryTime)
		}
	}
}
