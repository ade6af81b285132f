package contracttest_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/contracttest"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

const digest = "0123456789abcdef"

func samplePolicy(t *testing.T) ratelimit.Policy {
	t.Helper()
	p, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: "sample", Revision: 3, MaxCost: 10, FailureMode: ratelimit.FailClosed,
		Algorithm: ratelimit.SlidingWindowCounter{Limit: 10, Window: time.Minute},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func withDeadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestScripted_answersInOrderAndThenDenies(t *testing.T) {
	p := samplePolicy(t)
	port := contracttest.NewScripted(contracttest.Allow(p, 4), contracttest.Deny(p, time.Second))
	port.Then(ratelimit.Unavailable{PolicyID: "sample", Category: ratelimit.UnavailableClock}.Outcome())
	ctx := withDeadline(t)
	for i, want := range []struct {
		kind     ratelimit.Kind
		allows   bool
		category ratelimit.Category
		left     int
	}{
		{ratelimit.KindEvaluated, true, "", 2},
		{ratelimit.KindEvaluated, false, "", 1},
		{ratelimit.KindUnavailable, false, "CLOCK", 0},
		{ratelimit.KindIndeterminate, false, "", 0},
		{ratelimit.KindIndeterminate, false, "", 0},
	} {
		got := port.Evaluate(ctx, ratelimit.Request{PolicyID: "sample", SubjectDigest: digest, Cost: int64(i + 1)})
		if got.Kind() != want.kind || got.Allows() != want.allows || got.Category() != want.category || port.Left() != want.left {
			t.Errorf("answer %d: got %v %t %q with %d left, want %+v", i, got.Kind(), got.Allows(), got.Category(), port.Left(), want)
		}
	}
	requests := port.Requests()
	if len(requests) != 5 || requests[0].Cost != 1 || requests[4].Cost != 5 {
		t.Errorf("got requests %+v, want 5 of costs 1 to 5", requests)
	}
	requests[0].Cost = 99
	if port.Requests()[0].Cost != 1 {
		t.Error("a caller can change what the port remembers")
	}
}

func TestScripted_isAsStrictAsAPort(t *testing.T) {
	good := ratelimit.Request{PolicyID: "sample", SubjectDigest: digest, Cost: 1}
	with := func(change func(*ratelimit.Request)) ratelimit.Request {
		req := good
		change(&req)
		return req
	}
	ended, cancel := context.WithTimeout(context.Background(), time.Minute)
	cancel()
	for _, row := range []struct {
		sentence string
		ctx      context.Context
		req      ratelimit.Request
		kind     ratelimit.Kind
		category ratelimit.Category
	}{
		{"no deadline", context.Background(), good, ratelimit.KindUnavailable, "DEADLINE"},
		{"a context that has ended", ended, good, ratelimit.KindUnavailable, "DEADLINE"},
		{"the zero request", withDeadline(t), ratelimit.Request{}, ratelimit.KindIncompatible, "REQUEST"},
		{"a raw identity", withDeadline(t), with(func(r *ratelimit.Request) { r.SubjectDigest = "alice@example.com" }), ratelimit.KindIncompatible, "REQUEST"},
		{"a cost of 0", withDeadline(t), with(func(r *ratelimit.Request) { r.Cost = 0 }), ratelimit.KindIncompatible, "REQUEST"},
		{"an evaluation id", withDeadline(t), with(func(r *ratelimit.Request) { r.EvaluationID = "e" }), ratelimit.KindIncompatible, "REQUEST"},
		{"no policy", withDeadline(t), with(func(r *ratelimit.Request) { r.PolicyID = "" }), ratelimit.KindIncompatible, "REQUEST"},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			port := contracttest.NewScripted(contracttest.Allow(samplePolicy(t), 1))
			got := port.Evaluate(row.ctx, row.req)
			if got.Kind() != row.kind || got.Category() != row.category {
				t.Errorf("got %v %s, want %v %s", got.Kind(), got.Category(), row.kind, row.category)
			}
			if port.Left() != 1 || len(port.Requests()) != 1 {
				t.Errorf("got %d left and %d requests, want 1 and 1", port.Left(), len(port.Requests()))
			}
		})
	}
}

func TestScripted_isSafeForConcurrentUse(t *testing.T) {
	p := samplePolicy(t)
	var port contracttest.Scripted
	for range 100 {
		port.Then(contracttest.Allow(p, 0))
	}
	ctx := withDeadline(t)
	var allowed atomic.Int64
	var done sync.WaitGroup
	for range 64 {
		done.Go(func() {
			for range 10 {
				if port.Evaluate(ctx, ratelimit.Request{PolicyID: "sample", SubjectDigest: digest, Cost: 1}).Allows() {
					allowed.Add(1)
				}
			}
		})
	}
	done.Wait()
	if allowed.Load() != 100 || port.Left() != 0 || len(port.Requests()) != 640 {
		t.Errorf("got %d allowed, %d left, %d requests; want 100, 0, 640", allowed.Load(), port.Left(), len(port.Requests()))
	}
}

func TestAllowAndDeny_areConsistentDecisions(t *testing.T) {
	p := samplePolicy(t)
	decision := func(o ratelimit.Outcome) ratelimit.Decision {
		return ratelimit.Match(o, func(e ratelimit.Evaluated) ratelimit.Decision { return e.Decision },
			func(ratelimit.Unavailable) ratelimit.Decision { return ratelimit.Decision{} },
			func(ratelimit.Indeterminate) ratelimit.Decision { return ratelimit.Decision{} },
			func(ratelimit.Incompatible) ratelimit.Decision { return ratelimit.Decision{} })
	}
	allow, deny := decision(contracttest.Allow(p, 4)), decision(contracttest.Deny(p, 90*time.Second))
	if !allow.Allowed || allow.Remaining != 4 || allow.RetryAfter != 0 || allow.ResetAfter() != time.Second {
		t.Errorf("got %+v", allow)
	}
	if deny.Allowed || deny.Remaining != 0 || deny.RetryAfter != 90*time.Second || deny.ResetAfter() != deny.RetryAfter {
		t.Errorf("got %+v", deny)
	}
	for _, d := range []ratelimit.Decision{allow, deny} {
		if d.Limit != 10 || d.PolicyID != "sample" || d.PolicyRevision != 3 ||
			d.Source != ratelimit.GlobalRedis || d.Certainty != ratelimit.ApproximateAlgorithm {
			t.Errorf("got %+v", d)
		}
	}
}
