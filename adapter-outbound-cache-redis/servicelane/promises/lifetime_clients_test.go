package promises_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
	contract "github.com/edgelimit/edgelimit/shared-contract/cache"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// demandEnd demands that a key which was written between two instants, in microseconds, ends a lifetime after that.
func (s *scene) demandEnd(what, key string, lifetimeMillis, from, until int64) {
	s.Helper()
	ends, _ := s.do("PEXPIRETIME", key).(int64)
	if least, most := from/1000+lifetimeMillis, until/1000+lifetimeMillis; ends < least || ends > most {
		s.Errorf("%s: %s ends at %d, want %d to %d", what, key, ends, least, most)
	}
}

// writing runs one write between two readings of the server's clock.
func (s *scene) writing(write func()) (from, until int64) {
	s.Helper()
	from = s.nowMicros()
	write()
	return from, s.nowMicros()
}

func stateLifetimes(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	policies := []ratelimit.Policy{
		rig.Policy(t, ratelimit.FixedWindow{Limit: 10, Window: time.Hour}),
		rig.Policy(t, ratelimit.SlidingWindowCounter{Limit: 10, Window: time.Hour}),
		rig.Policy(t, ratelimit.TokenBucket{Capacity: 10, RefillTokens: 3, RefillPeriod: time.Minute}),
	}
	r := s.open(with(policies))
	for _, p := range policies {
		subject := rig.Subject()
		for cost := range int64(3) {
			var d ratelimit.Decision
			from, until := s.writing(func() { d = decided(r.Evaluate(p.ID(), subject, cost+1)) })
			if !d.Allowed {
				t.Fatalf("%s: got %+v, want it allowed", p.ID(), d)
			}
			s.demandEnd(p.ID(), r.StateKey(p.ID(), subject), (d.ResetAfter() + p.CleanupGrace()).Milliseconds(), from, until)
		}
	}
}

// decided is the decision in an outcome, the zero one without.
func decided(o ratelimit.Outcome) ratelimit.Decision {
	return ratelimit.Match(o, func(e ratelimit.Evaluated) ratelimit.Decision { return e.Decision },
		func(ratelimit.Unavailable) ratelimit.Decision { return ratelimit.Decision{} },
		func(ratelimit.Indeterminate) ratelimit.Decision { return ratelimit.Decision{} },
		func(ratelimit.Incompatible) ratelimit.Decision { return ratelimit.Decision{} })
}

func lifetimesOfLogsAndEntries(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	for _, window := range []time.Duration{1_500_001 * time.Microsecond, time.Minute, 366 * 24 * time.Hour} {
		limiter, id := s.limiter(window), window.String()
		tenant, user := s.key("rl:{"+id+"}"), s.key("rl:{"+id+"}:user:ann")
		life := (window + 1000*time.Microsecond - 1).Milliseconds() + 1000
		for range 2 {
			from, until := s.writing(func() {
				if allowed, _, _, err := limiter.Dual().AllowDual(tenant, 9, user, 9); !allowed || err != nil {
					t.Errorf("a window of %v: got %t, %v, want it allowed", window, allowed, err)
				}
			})
			s.demandEnd("a dual call", tenant, life, from, until)
			s.demandEnd("a dual call", user, life, from, until)
			from, until = s.writing(func() { _, _, _ = limiter.Allow(tenant, 9) })
			s.demandEnd("a single call", tenant, life, from, until)
		}
	}
	c := newCached(s, "lifetime")
	var token contract.Token
	for _, row := range []struct {
		verb  string
		ttl   time.Duration
		write func(e contract.Entry) contract.Writing
	}{
		{"put if absent", time.Minute, func(e contract.Entry) contract.Writing { return c.port.PutIfAbsent(s.within(), c.key, e) }},
		{"put", time.Hour, func(e contract.Entry) contract.Writing { return c.port.Put(s.within(), c.key, e) }},
		{"replace", 90_001 * time.Millisecond, func(e contract.Entry) contract.Writing {
			return c.port.CompareAndReplace(s.within(), c.key, token, e)
		}},
	} {
		from, until := s.writing(func() {
			var got string
			if got, token = written(row.write(entry(t, "value", row.ttl))); got != "stored" {
				t.Errorf("%s: got %s, want stored", row.verb, got)
			}
		})
		s.demandEnd(row.verb, c.physical, row.ttl.Milliseconds(), from, until)
	}
}

// noImmortals reads from the wire every key that a provider, a limiter and a cache name, for their probes as well, and
// demands of each that it has gone or has an end: a provider's probe within a second, a limiter's within two.
func noImmortals(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	tap := newTap(t, s.server.Addr)
	began := s.nowMicros()
	r := s.open(func(c *redislimit.Config) { c.Redis.Addr = tap.addr })
	limiter := s.limiterAt(tap.addr, time.Minute)
	k, err := contract.NewKey("limits", "acme")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Config.Policies {
		r.Expect(p.ID(), rig.Subject(), 1, rig.Allowed(p.Limit()-1))
	}
	if _, _, _, err := limiter.Dual().AllowDual(s.key("rl:{acme}"), 2, s.key("rl:{acme}:user:ann"), 2); err != nil {
		t.Fatal(err)
	}
	if got, _ := written(s.cacheAt(tap.addr).PutIfAbsent(s.within(), k, entry(t, "value", time.Minute))); got != "stored" {
		t.Fatalf("got %s, want stored", got)
	}
	ofProvider, ofLimiter := s.probes(tap)
	everybody := tap.keysWith(s.prefix + ":")
	for _, named := range []struct {
		of         string
		keys       map[string]bool
		least      int
		mostMillis int64
	}{
		{"the provider's probe", ofProvider, 5, 1000}, // four programs and the commands by themselves
		{"the limiter's probe", ofLimiter, 2, 2000},
		{"everybody", everybody, 8, ratelimit.MaxSpan.Milliseconds() + 30_000},
	} {
		if len(named.keys) < named.least {
			t.Errorf("%s names %d keys, want %d at least", named.of, len(named.keys), named.least)
		}
		for key := range named.keys {
			ends, _ := s.do("PEXPIRETIME", key).(int64)
			if now := s.nowMicros() / 1000; ends == -1 || ends > now+named.mostMillis || ends > 0 && ends < began/1000 {
				t.Errorf("%s names %s, which ends at %d; it is %d", named.of, key, ends, now)
			}
		}
	}
	r.Eventually("be rid of every probe's keys", func() bool { return s.goneAll(s.probes(tap)) })
	gone := (s.nowMicros() - began) / 1000
	evidence.Record(t, "keys that clients named, none without an end",
		"%d, %d of them and %d more of probes; probes' were gone after %d ms", len(everybody), len(ofProvider), len(ofLimiter), gone)
}

// probes are the keys of probes that a tap saw: a provider's, and a limiter's, which are under no prefix.
func (s *scene) probes(tap *tap) (ofProvider, ofLimiter map[string]bool) {
	ofProvider = tap.keysWith(s.prefix + ":v1:rate:")
	maps.DeleteFunc(ofProvider, func(key string, _ bool) bool { return !strings.Contains(key, ":probe:") })
	return ofProvider, tap.keysWith("rl:{probe:")
}

func (s *scene) goneAll(some, others map[string]bool) bool {
	s.Helper()
	for _, keys := range []map[string]bool{some, others} {
		for key := range keys {
			if s.do("EXISTS", key) != int64(0) {
				return false
			}
		}
	}
	return true
}
