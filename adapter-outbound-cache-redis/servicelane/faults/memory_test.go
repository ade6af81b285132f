package faults_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

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
	each(t, aFullServer)
}

func aFullServer(t *testing.T, k *kind) {
	const want = "unavailable SERVER"
	s := k.stage(t, []string{"--maxmemory-policy", "noeviction"}, roomy(transportTimeout))
	before, spent := s.admit(1), s.admit(rig.Limit)
	s.bound(mebibyte)
	written := s.fill(0)
	s.bound(-mebibyte / 2) // what clients' buffers take and give back decides nothing
	asked := s.alone(want)
	for _, q := range before {
		s.demand(q, want)
	}
	for _, q := range spent {
		s.demand(q.one(), "denied 0")
	}
	if s.edge != nil {
		for _, q := range spent {
			asked = append(asked, s.fullInABatch(q, want)...)
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

// fullInABatch has a batch under a policy meet a full server, amid it one who has spent his limit.
func (s *scene) fullInABatch(spent question, want string) (others []question) {
	s.t.Helper()
	questions := batchOf(spent.way)
	questions[batchSize/2] = spent.one()
	g := s.gather(questions...)
	g.send()
	if commands := g.commands(); commands != 1 {
		s.t.Errorf("%s: a batch went in %d commands", spent.way, commands)
	}
	for i, got := range g.answers {
		if i == batchSize/2 && got != "denied 0" || i != batchSize/2 && got != want {
			s.t.Errorf("%s, member %d of a batch: got %s", spent.way, i, got)
		}
		if i != batchSize/2 {
			others = append(others, questions[i])
		}
	}
	return others
}

// An error of one member of a batch is its caller's alone.
func TestMemory_aMemberThatFailsIsItsCallersAlone(t *testing.T) {
	t.Parallel()
	s := edgePort.stage(t, nil, roomy(transportTimeout))
	for _, policy := range s.ways() {
		questions := batchOf(policy)
		s.do("SET", s.edge.StateKey(policy, questions[2].subject), "of somebody else")
		s.settles()
		g := s.gather(questions...)
		g.send()
		s.settles()
		if commands := g.commands(); commands != 1 {
			t.Errorf("%s: a batch went in %d commands", policy, commands)
		}
		for i, q := range questions {
			if i == 2 {
				if g.answers[i] != "incompatible STATE" {
					t.Errorf("%s, whose key is no state: got %s", policy, g.answers[i])
				}
				if got := s.do("GET", s.edge.StateKey(policy, q.subject)); got != "of somebody else" {
					t.Errorf("%s: the key became %v", policy, got)
				}
				s.do("DEL", s.edge.StateKey(policy, q.subject))
				continue
			}
			if g.answers[i] != admitted {
				t.Errorf("%s, beside a key that is no state: got %s, want %s", policy, g.answers[i], admitted)
			}
			s.expectCharged(q, 1)
		}
	}
	s.recovers()
	s.record("one key of a batch holds something else", "the other members were served")
}

// A server that evicts gives whom it evicts a new allowance, and nobody else; the limiter warns of it from the start.
func TestMemory_whoIsEvictedStartsAnew(t *testing.T) {
	each(t, func(t *testing.T, k *kind) {
		for _, policy := range []string{"allkeys-lru", "volatile-lru"} {
			t.Run(policy, func(t *testing.T) {
				t.Parallel()
				evicts(t, k, policy)
			})
		}
	})
}

func evicts(t *testing.T, k *kind, policy string) {
	const subjects, evictions = 300, 150
	s := k.stage(t, []string{"--maxmemory-policy", policy}, func(o *options) { o.MaxInFlight = 32 })
	if !says(s.Connection.Health().Warnings, policy) {
		t.Errorf("warnings %q do not name the eviction policy", s.Connection.Health().Warnings)
	}
	ways := s.ways()
	if k == &slidingLog {
		ways = []string{oneLayer} // of two, each is evicted by itself
	}
	var asked []question
	for range subjects / len(ways) {
		for _, way := range ways {
			q := questionOf(way)
			s.expect(q, admitted)
			asked = append(asked, q)
		}
	}
	s.bound(mebibyte)
	s.fill(evictions)
	s.do("CONFIG", "SET", "maxmemory", "0")
	evicted := 0
	for _, q := range asked {
		before := s.charged(q)
		if before == 0 {
			evicted++
		}
		s.demand(q, rig.Allowed(rig.Limit-1-before))
		s.expectChargedSince(q, before, 1)
	}
	if evicted == 0 || evicted == subjects {
		t.Errorf("%d of %d subjects were evicted, which shows nothing of the others", evicted, subjects)
	}
	evidence.Record(t, "subjects evicted by "+policy+", and so with a new allowance, "+k.name, "%d of %d", evicted, subjects)
	s.record("maxmemory with "+policy+": subjects are evicted",
		"%d of %d started anew, the others went on; the limiter warns from its start", evicted, subjects)
}
