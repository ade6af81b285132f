package redislimit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// Providers of one server, and one that is opened later, count as one: each sees what
// the others charged, and says the same of the window.
func TestProviders_ofOneServerSayTheSame(t *testing.T) {
	server := redistest.Start(t)
	first, second := newRig(t, server), newRig(t, server)
	for _, p := range first.config.Policies {
		who, resets := subject(), map[int64]bool{}
		for n := range int64(20) {
			d := []*rig{first, second}[n%2].decision(p.ID(), who, 1)
			if !d.Allowed || d.Remaining != policyLimit-1-n {
				t.Errorf("%s, call %d: got %+v, want %d left", p.ID(), n, d, policyLimit-1-n)
			}
			resets[d.ResetAtMillis] = true
		}
		if p.Algorithm().Name() != ratelimit.NameTokenBucket && len(resets) != 1 {
			t.Errorf("%s: resets at each of %v", p.ID(), resets)
		}
		first.expect(p.ID(), who, policyLimit-20, allowed(0))
		if err := second.provider.Close(); err != nil {
			t.Fatal(err)
		}
		second.open()
		second.awaitReady()
		second.expect(p.ID(), who, 1, "denied 0")
	}
}

// A changed limit is a new revision, and so a new key. Under the old revision a limit
// that was raised holds at once, and one below what a state holds makes it none of ours:
// nobody is allowed, and nothing is written.
func TestProviders_ofAChangedLimit(t *testing.T) {
	server := redistest.Start(t)
	of := func(revision, limit int64) *rig {
		var changed []ratelimit.Policy
		for _, a := range []ratelimit.Algorithm{
			ratelimit.FixedWindow{Limit: limit, Window: ratelimit.MaxSpan},
			ratelimit.SlidingWindowCounter{Limit: limit, Window: 100 * 24 * time.Hour},
			ratelimit.TokenBucket{Capacity: limit, RefillTokens: 1, RefillPeriod: 24 * time.Hour},
		} {
			p, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
				ID: string(a.Name()), Revision: revision, Algorithm: a, MaxCost: limit, FailureMode: ratelimit.FailClosed,
			})
			if err != nil {
				t.Fatal(err)
			}
			changed = append(changed, p)
		}
		return newRig(t, server, func(c *redislimit.Config) { c.Policies = changed })
	}
	ten, twenty, five, anew := of(1, 10), of(1, 20), of(1, 5), of(2, 5)
	for _, p := range ten.config.Policies {
		who, id := subject(), p.ID()
		// A bucket keeps what is left, the others what was used.
		cost, leftOfTwenty := int64(8), int64(11)
		if p.Algorithm().Name() == ratelimit.NameTokenBucket {
			cost, leftOfTwenty = 3, 6
		}
		ten.expect(id, who, cost, allowed(10-cost))
		before := fmt.Sprint(server.Do(t, "HGETALL", ten.stateKey(id, who)))
		five.expect(id, who, 1, "incompatible STATE")
		if after := fmt.Sprint(server.Do(t, "HGETALL", ten.stateKey(id, who))); after != before {
			t.Errorf("%s: the state became %s, was %s", id, after, before)
		}
		twenty.expect(id, who, 1, allowed(leftOfTwenty))
		anew.expect(id, who, 5, allowed(0))
		anew.expect(id, who, 1, "denied 0")
	}
}

// The same questions have the same answers whether denials are kept or not.
func TestProviders_withADenialCacheDecideAlike(t *testing.T) {
	server := redistest.Start(t)
	five := func(c *redislimit.Config) {
		c.Policies = []ratelimit.Policy{
			policyOf(t, "fixed-window", ratelimit.FixedWindow{Limit: 5, Window: ratelimit.MaxSpan}),
			policyOf(t, "sliding-window-counter", ratelimit.SlidingWindowCounter{Limit: 5, Window: 100 * 24 * time.Hour}),
			policyOf(t, "token-bucket", ratelimit.TokenBucket{Capacity: 5, RefillTokens: 1, RefillPeriod: 24 * time.Hour}),
		}
	}
	plain, keeping := newRig(t, server, five), newRig(t, server, five, keepDenials)
	for _, p := range plain.config.Policies {
		one, other := subject(), subject()
		for n, row := range []struct {
			cost  int64
			want  string
			again bool // it was denied before, and needs no Redis
		}{
			{1, allowed(4), false}, {1, allowed(3), false}, {4, "denied 3", false}, {4, "denied 3", true},
			{3, allowed(0), false}, {1, "denied 0", false}, {1, "denied 0", true},
		} {
			plain.expect(p.ID(), one, row.cost, row.want)
			asked := keeping.link.Forwarded("EVALSHA")
			keeping.expect(p.ID(), other, row.cost, row.want)
			if again := keeping.link.Forwarded("EVALSHA") == asked; again != row.again {
				t.Errorf("answered without Redis: %v, want %v", again, row.again)
			}
			if t.Failed() {
				t.Fatalf("%s, call %d", p.ID(), n)
			}
		}
	}
}
