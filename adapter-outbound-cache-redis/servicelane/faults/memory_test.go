package faults_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
)

const mebibyte = 1 << 20

// bound sets maxmemory to what is used and so much more.
func (s *scene) bound(more int64) {
	s.t.Helper()
	used, err := strconv.ParseInt(s.past().Info(s.t, "memory", "used_memory"), 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	s.do("CONFIG", "SET", "maxmemory", strconv.FormatInt(used+more, 10))
}

// filler is a key of another client of the server.
func filler(n int) string { return fmt.Sprintf("filler:%d", n) }

// fill has another client write until the server takes no more, or has evicted so many keys.
func (s *scene) fill(evictions int64) (written int) {
	s.t.Helper()
	chunk := strings.Repeat("x", 16<<10)
	for written = 0; ; written++ {
		if _, full := s.server.Do(s.t, "SET", filler(written), chunk, "EX", "3600").(redistest.ServerError); full {
			return written
		}
		evicted, err := strconv.ParseInt(s.past().Info(s.t, "stats", "evicted_keys"), 10, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		if evictions > 0 && evicted >= evictions {
			return written + 1
		}
		if written > 4096 {
			s.t.Fatalf("%d evictions, and the server is not full", evicted)
		}
	}
}

// A full server that evicts nothing charges nobody, still denies, and serves as soon as there is room.
func TestMemory_aFullServerChargesNobodyAndStillDenies(t *testing.T) {
	t.Parallel()
	const want = "unavailable SERVER"
	s := stage(t, []string{"--maxmemory-policy", "noeviction"}, roomy(transportTimeout))
	before, spent := s.admit(1), s.admit(rig.Limit)
	s.bound(mebibyte)
	written := s.fill(0)
	s.bound(-mebibyte / 2) // what clients' buffers take and give back decides nothing
	asked := s.alone(want)
	for _, q := range before {
		s.demand(q, want)
	}
	for _, q := range spent {
		s.demand(question{q.policy, q.subject, 1}, "denied 0")
	}
	for _, q := range spent {
		questions := batchOf(q.policy)
		questions[batchSize/2] = question{q.policy, q.subject, 1}
		g := s.gather(questions...)
		g.send()
		if commands := g.commands(); commands != 1 {
			t.Errorf("%s: a batch went in %d commands", q.policy, commands)
		}
		for i, got := range g.answers {
			if i == batchSize/2 && got != "denied 0" || i != batchSize/2 && got != want {
				t.Errorf("%s, member %d of a batch: got %s", q.policy, i, got)
			}
			if i != batchSize/2 {
				asked = append(asked, questions[i])
			}
		}
	}
	for n := range written {
		s.do("DEL", filler(n))
	}
	took := s.recovers()
	for _, q := range asked {
		s.expectCharged(q, 0)
	}
	for _, q := range before {
		s.expectChargedSince(q, 1, 0)
	}
	s.record("maxmemory with noeviction: the memory is full", "served again within %v of there being room", round(took))
	s.goesOn(before...)
}

// An error of one member of a batch is its caller's alone.
func TestMemory_aMemberThatFailsIsItsCallersAlone(t *testing.T) {
	t.Parallel()
	s := stage(t, nil, roomy(transportTimeout))
	for _, p := range s.Config.Policies {
		questions := batchOf(p.ID())
		s.do("SET", s.StateKey(p.ID(), questions[2].subject), "of somebody else")
		s.settles()
		g := s.gather(questions...)
		g.send()
		s.settles()
		if commands := g.commands(); commands != 1 {
			t.Errorf("%s: a batch went in %d commands", p.ID(), commands)
		}
		for i, q := range questions {
			if i == 2 {
				if g.answers[i] != "incompatible STATE" {
					t.Errorf("%s, whose key is no state: got %s", p.ID(), g.answers[i])
				}
				if got := s.do("GET", s.StateKey(p.ID(), q.subject)); got != "of somebody else" {
					t.Errorf("%s: the key became %v", p.ID(), got)
				}
				s.do("DEL", s.StateKey(p.ID(), q.subject))
				continue
			}
			if g.answers[i] != admitted {
				t.Errorf("%s, beside a key that is no state: got %s, want %s", p.ID(), g.answers[i], admitted)
			}
			s.expectCharged(q, 1)
		}
	}
	s.recovers()
	s.record("one key of a batch holds something else", "the other members were served")
}

// A server that evicts gives whom it evicts a new allowance, and nobody else; the provider warns of it from the start.
func TestMemory_whoIsEvictedStartsAnew(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"allkeys-lru", "volatile-lru"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			evicts(t, policy)
		})
	}
}

func evicts(t *testing.T, policy string) {
	const subjects, evictions = 300, 150
	s := stage(t, []string{"--maxmemory-policy", policy}, func(c *redislimit.Config) { c.Redis.MaxInFlight = 32 })
	if !says(s.Provider.Connection().Health().Warnings, policy) {
		t.Errorf("warnings %q do not name the eviction policy", s.Provider.Connection().Health().Warnings)
	}
	var asked []question
	for range subjects / 3 {
		for _, p := range s.Config.Policies {
			q := questionOf(p.ID())
			s.Expect(q.policy, q.subject, 1, admitted)
			asked = append(asked, q)
		}
	}
	s.bound(mebibyte)
	s.fill(evictions)
	s.do("CONFIG", "SET", "maxmemory", "0")
	evicted := 0
	for _, q := range asked {
		before := s.Charged(q.policy, q.subject)
		if before == 0 {
			evicted++
		}
		s.demand(q, rig.Allowed(rig.Limit-1-before))
		s.expectChargedSince(q, before, 1)
	}
	if evicted == 0 || evicted == subjects {
		t.Errorf("%d of %d subjects were evicted, which shows nothing of the others", evicted, subjects)
	}
	evidence.Record(t, "subjects evicted by "+policy+", and so with a new allowance", "%d of %d", evicted, subjects)
	s.record("maxmemory with "+policy+": subjects are evicted",
		"%d of %d started anew, the others went on; the provider warns from its start", evicted, subjects)
}
