package contracttest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// contractChecks do not depend on the algorithm: they are made for one.
var contractChecks = []check{
	{promise: "a request that cannot be served is Incompatible REQUEST and charges nothing", limit: 10, run: refusesRequests},
	{promise: "a context without a deadline is Unavailable DEADLINE and charges nothing", limit: 10, run: refusesNoDeadline},
	{promise: "a context that has ended never allows", limit: 10, run: refusesEndedContexts},
	{promise: "callers who leave under way are charged once at most", limit: 1000, run: countsLeavers},
	{promise: "two subjects do not share an allowance", limit: 10, run: separatesSubjects},
	{promise: "two policies do not share an allowance", limit: 10, run: separatesPolicies},
	{promise: "two revisions of a policy do not share an allowance", limit: 10, run: separatesRevisions},
	{promise: "64 callers at once never get each other's answers", limit: 200, run: keepsAnswersApart},
}

func refusesRequests(a scene, p ratelimit.Policy) {
	small := mustPolicy(ratelimit.PolicyConfig{ID: p.ID(), Revision: 1, Algorithm: p.Algorithm(), MaxCost: 5})
	port, subject := a.port(small), newSubject()
	want := answer{kind: ratelimit.KindIncompatible, category: ratelimit.Category(ratelimit.IncompatibleRequest)}
	for _, bad := range []struct {
		because string
		req     ratelimit.Request
	}{
		{"the request is zero", ratelimit.Request{}},
		{"the policy is unknown", ratelimit.Request{PolicyID: "contract-unknown", SubjectDigest: subject, Cost: 1}},
		{"the policy is not named", ratelimit.Request{SubjectDigest: subject, Cost: 1}},
		{"the policy id is no id", ratelimit.Request{PolicyID: strings.Repeat("a:b\n", 1000), SubjectDigest: subject, Cost: 1}},
		{"the cost is 0", ratelimit.Request{PolicyID: small.ID(), SubjectDigest: subject, Cost: 0}},
		{"the cost is -1", ratelimit.Request{PolicyID: small.ID(), SubjectDigest: subject, Cost: -1}},
		{"the cost is the least integer", ratelimit.Request{PolicyID: small.ID(), SubjectDigest: subject, Cost: -1 << 63}},
		{"the cost is above the maximum", ratelimit.Request{PolicyID: small.ID(), SubjectDigest: subject, Cost: small.MaxCost() + 1}},
		{"the cost is the largest integer", ratelimit.Request{PolicyID: small.ID(), SubjectDigest: subject, Cost: 1<<63 - 1}},
		{"an evaluation id is present", ratelimit.Request{PolicyID: small.ID(), SubjectDigest: subject, Cost: 1, EvaluationID: "e-1"}},
		{"the digest is empty", ratelimit.Request{PolicyID: small.ID(), Cost: 1}},
		{"the digest is too short", ratelimit.Request{PolicyID: small.ID(), SubjectDigest: strings.Repeat("a", ratelimit.MinSubjectDigestLen-1), Cost: 1}},
		{"the digest is too long", ratelimit.Request{PolicyID: small.ID(), SubjectDigest: strings.Repeat("a", ratelimit.MaxSubjectDigestLen+1), Cost: 1}},
		{"the digest is an address", ratelimit.Request{PolicyID: small.ID(), SubjectDigest: "2001:db8:1:2:3:4:5:6", Cost: 1}},
		{"the digest holds a brace", ratelimit.Request{PolicyID: small.ID(), SubjectDigest: "{" + subject + "}", Cost: 1}},
	} {
		if got := read(a.evaluate(port, bad.req)); !got.is(want) {
			a.faultf("%s: got %v, want %v", bad.because, got, want)
		}
	}
	a.expect(port, small, subject, 1, allowed(small.Limit()-1))
	a.expect(port, small, subject, small.MaxCost(), allowed(small.Limit()-1-small.MaxCost()))
}

func refusesNoDeadline(a scene, p ratelimit.Policy) {
	port, subject := a.port(p), newSubject()
	req := ratelimit.Request{PolicyID: p.ID(), SubjectDigest: subject, Cost: 1}
	got := read(port.Evaluate(context.Background(), req))
	want := answer{kind: ratelimit.KindUnavailable, category: ratelimit.Category(ratelimit.UnavailableDeadline)}
	if !got.is(want) {
		a.faultf("got %v, want %v", got, want)
	}
	if got.policyID != p.ID() || got.retryAfter <= 0 {
		a.faultf("got policy id %q and retry-after %v, want %q and more than 0", got.policyID, got.retryAfter, p.ID())
	}
	a.expect(port, p, subject, 1, allowed(p.Limit()-1))
}

func refusesEndedContexts(a scene, p ratelimit.Policy) {
	port, subject := a.port(p), newSubject()
	req := ratelimit.Request{PolicyID: p.ID(), SubjectDigest: subject, Cost: 1}
	var mayBeCharged int64
	evaluate := func(ctx context.Context, what string) {
		got := read(port.Evaluate(ctx, req))
		switch got.kind {
		case ratelimit.KindUnavailable:
		case ratelimit.KindIndeterminate:
			mayBeCharged += req.Cost
		default:
			a.faultf("%s: got %v, want unavailable or indeterminate", what, got)
		}
	}
	cancelled, cancel := context.WithTimeout(context.Background(), evaluationTime)
	cancel()
	evaluate(cancelled, "a cancelled context")
	expired, cancel := context.WithTimeout(context.Background(), -time.Second)
	defer cancel()
	evaluate(expired, "an expired context")
	a.expectCharged(port, p, subject, 0, mayBeCharged)
}

// countsLeavers lets every second caller leave at another moment.
func countsLeavers(a scene, p ratelimit.Policy) {
	port, subject := a.port(p), newSubject()
	req := ratelimit.Request{PolicyID: p.ID(), SubjectDigest: subject, Cost: 1}
	var charged, mayBeCharged atomic.Int64
	together(func(caller int) {
		for n := range 10 {
			ctx, cancel := context.WithTimeout(context.Background(), evaluationTime)
			if caller%2 == 0 {
				time.AfterFunc(time.Duration(caller*10+n)*5*time.Microsecond, cancel)
			}
			got := read(port.Evaluate(ctx, req))
			cancel()
			switch {
			case got.kind == ratelimit.KindEvaluated && got.decision.Allowed:
				a.watch(question{p, subject}, got.decision)
				charged.Add(req.Cost)
			case got.kind == ratelimit.KindIndeterminate:
				mayBeCharged.Add(req.Cost)
			case got.kind != ratelimit.KindUnavailable:
				a.faultf("got %v, want an allow, unavailable or indeterminate", got)
			}
		}
	})
	a.expectCharged(port, p, subject, charged.Load(), charged.Load()+mayBeCharged.Load())
}

// expectCharged demands that what was charged to subject so far lies between
// least and most, by asking for one unit more.
func (a *attempt) expectCharged(port ratelimit.EdgeRateLimitPort, p ratelimit.Policy, subject string, least, most int64) {
	d := a.decide(port, p, subject, 1)
	if charged := d.Limit - d.Remaining - 1; !d.Allowed || charged < least || charged > most {
		a.faultf("%d charged, want %d to %d", charged, least, most)
	}
}

func separatesSubjects(a scene, p ratelimit.Policy) {
	port, subject := a.port(p), newSubject()
	a.expect(port, p, subject, p.Limit(), allowed(0))
	a.expect(port, p, newSubject(), 1, allowed(p.Limit()-1))
	a.expect(port, p, swapCase(subject), 1, allowed(p.Limit()-1))
	a.expect(port, p, subject+"_", 1, allowed(p.Limit()-1))
	a.expect(port, p, subject, 1, denied(0))
}

// swapCase is another digest than s: digests are read letter by letter.
func swapCase(s string) string {
	if lower := strings.ToLower(s); lower != s {
		return lower
	}
	return strings.ToUpper(s)
}

func separatesPolicies(a scene, p ratelimit.Policy) {
	policies := []ratelimit.Policy{p}
	for i, s := range shapes {
		policies = append(policies, mustPolicy(ratelimit.PolicyConfig{
			ID: fmt.Sprintf("contract-other-%d", i), Revision: 1, Algorithm: s.slow(p.Limit()), MaxCost: p.Limit(),
		}))
	}
	port, subject := a.port(policies...), newSubject()
	for _, each := range policies {
		a.expect(port, each, subject, 4, allowed(each.Limit()-4))
		a.expect(port, each, subject, each.Limit()-4, allowed(0))
	}
	for _, each := range policies {
		a.expect(port, each, subject, 1, denied(0))
	}
}

func separatesRevisions(a scene, p ratelimit.Policy) {
	next := mustPolicy(ratelimit.PolicyConfig{
		ID: p.ID(), Revision: p.Revision() + 1, Algorithm: p.Algorithm(), MaxCost: p.MaxCost(),
	})
	before, after, subject := a.port(p), a.port(next), newSubject()
	a.expect(before, p, subject, p.Limit(), allowed(0))
	a.expect(after, next, subject, 1, allowed(next.Limit()-1))
	a.expect(before, p, subject, 1, denied(0))
}

// keepsAnswersApart gives each caller a subject and a cost of its own, and
// every second one another policy.
func keepsAnswersApart(a scene, p ratelimit.Policy) {
	other := mustPolicy(ratelimit.PolicyConfig{
		ID: "contract-other", Revision: 9, Algorithm: a.shape.slow(p.Limit() + 1000), MaxCost: p.Limit(),
	})
	port := a.port(p, other)
	together(func(caller int) {
		mine, subject, cost := []ratelimit.Policy{p, other}[caller%2], newSubject(), int64(caller%8+1)
		for n := range int64(10) {
			a.expect(port, mine, subject, cost, allowed(mine.Limit()-(n+1)*cost))
		}
	})
}
