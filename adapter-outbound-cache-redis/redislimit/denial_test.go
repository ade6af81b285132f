package redislimit_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

func keepDenials(c *redislimit.Config) {
	c.DenialCache = redislimit.DenialCache{MaxEntries: 100, MaxAge: 10 * time.Second}
}

// decision is that of an outcome that must have one.
func (r *rig) decision(policyID, subject string, cost int64) ratelimit.Decision {
	r.t.Helper()
	d := ratelimit.Match(r.evaluate(policyID, subject, cost),
		func(e ratelimit.Evaluated) *ratelimit.Decision { return &e.Decision },
		func(ratelimit.Unavailable) *ratelimit.Decision { return nil },
		func(ratelimit.Indeterminate) *ratelimit.Decision { return nil },
		func(ratelimit.Incompatible) *ratelimit.Decision { return nil })
	if d == nil {
		r.t.Fatalf("%s: no decision", policyID)
	}
	return *d
}

func TestDenialCache_repeatsADenialWithoutRedis(t *testing.T) {
	r := newRig(t, redistest.Start(t), keepDenials)
	for _, p := range r.config.Policies {
		who := subject()
		r.expect(p.ID(), who, policyLimit, allowed(0))
		first := r.decision(p.ID(), who, 1)
		sent := r.link.Forwarded("EVALSHA")
		r.link.Refuse()
		r.link.Cut()
		again := r.decision(p.ID(), who, 1)
		r.link.Heal()
		if first.Source != ratelimit.GlobalRedis || again.Source != ratelimit.LocalDenialCache {
			t.Errorf("%s: got sources %s and %s", p.ID(), first.Source, again.Source)
		}
		if again.RetryAfter > first.RetryAfter || again.RetryAfter < first.RetryAfter-5*time.Second {
			t.Errorf("%s: retry after %v, then %v", p.ID(), first.RetryAfter, again.RetryAfter)
		}
		first.Source, first.RetryAfter = again.Source, again.RetryAfter
		if first != again || again.Allowed {
			t.Errorf("%s: got %+v, want %+v", p.ID(), again, first)
		}
		if got := r.link.Forwarded("EVALSHA") - sent; got != 0 {
			t.Errorf("%s: %d calls were sent for a denial that is known", p.ID(), got)
		}
		r.awaitReady()
		r.expectCharged(p.ID(), who, policyLimit)
	}
}

func TestDenialCache_answersThatQuestionAlone(t *testing.T) {
	r := newRig(t, redistest.Start(t), keepDenials)
	who := subject()
	r.expect("token-bucket", who, policyLimit-1, allowed(1))
	r.expect("token-bucket", who, 2, "denied 1")
	r.expect("token-bucket", who, 1, allowed(0)) // another cost
	r.expect("token-bucket", who, 2, "denied 1") // as it was observed
	r.expect("fixed-window", who, 2, allowed(policyLimit-2))
	r.expect("token-bucket", subject(), 2, allowed(policyLimit-2))
}

// A denial by a clock that is clamped says more than is sure.
func TestDenialCache_keepsNoDenialByAClampedClock(t *testing.T) {
	r := newRig(t, redistest.Start(t), keepDenials)
	who := subject()
	r.plant("fixed-window", who, "observed", strconv.FormatInt(r.serverMillis()+1500, 10), "consumed", strconv.FormatInt(policyLimit, 10))
	for range 3 {
		if d := r.decision("fixed-window", who, 1); d.Allowed || d.Source != ratelimit.GlobalRedis {
			t.Errorf("got %+v, want a denial of Redis", d)
		}
	}
}

// A denial that took its whole age to come is over when it is there.
func TestDenialCache_countsTheAgeFromTheQuestion(t *testing.T) {
	const age = 500 * time.Millisecond
	r := newRig(t, redistest.Start(t), func(c *redislimit.Config) {
		c.DenialCache = redislimit.DenialCache{MaxEntries: 100, MaxAge: age}
		c.Redis.CommandTimeout = 5 * time.Second
	})
	who := subject()
	r.expect("fixed-window", who, policyLimit, allowed(0))
	r.link.Fault("EVALSHA", 1, redistest.Delay(age))
	for range 2 {
		if d := r.decision("fixed-window", who, 1); d.Allowed || d.Source != ratelimit.GlobalRedis {
			t.Errorf("got %+v, want a denial of Redis", d)
		}
	}
}

func TestDenialCache_admitsWhenRedisDoes(t *testing.T) {
	soon := policyOf(t, "soon", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 1, RefillPeriod: 300 * time.Millisecond})
	r := newRig(t, redistest.Start(t), keepDenials, func(c *redislimit.Config) { c.Policies = []ratelimit.Policy{soon} })
	who := subject()
	r.expect("soon", who, 1, allowed(0))
	for range 5 {
		began, local := time.Now(), 0
		first := r.decision("soon", who, 1)
		d := first
		for ; !d.Allowed; d = r.decision("soon", who, 1) {
			if d.Source == ratelimit.LocalDenialCache {
				local++
			}
		}
		// The server's clock is cut to whole milliseconds.
		took := time.Since(began)
		if took < first.RetryAfter-time.Millisecond || took > first.RetryAfter+time.Second || local == 0 {
			t.Errorf("admitted after %v with %d local denials, want after %v", took, local, first.RetryAfter)
		}
	}
}

func TestDenialCache_answersNobodyWhoMayNotAsk(t *testing.T) {
	r := newRig(t, redistest.Start(t), keepDenials)
	who := subject()
	r.expect("token-bucket", who, policyLimit, allowed(0))
	r.expect("token-bucket", who, 1, "denied 0")
	gone, leave := context.WithTimeout(t.Context(), callerDeadline)
	leave()
	for sentence, ctx := range map[string]context.Context{"no deadline": context.Background(), "cancelled": gone} {
		if got := say(r.evaluateIn(ctx, "token-bucket", who, 1)); got != "unavailable DEADLINE" {
			t.Errorf("%s: got %s, want unavailable DEADLINE", sentence, got)
		}
	}
	if err := r.provider.Close(); err != nil {
		t.Fatal(err)
	}
	r.expect("token-bucket", who, 1, "unavailable CONNECTION")
}

func TestOpen_refusesADenialCacheOutOfBounds(t *testing.T) {
	for _, bad := range []redislimit.DenialCache{
		{MaxEntries: 1}, {MaxAge: time.Second}, {MaxEntries: 1, MaxAge: 11 * time.Second}, {MaxEntries: -1, MaxAge: time.Second},
	} {
		c := configFor("127.0.0.1:1", policies(t))
		c.DenialCache = bad
		if p, err := redislimit.Open(c); err == nil {
			_ = p.Close()
			t.Errorf("%+v is accepted", bad)
		}
	}
}
