//go:build soak

package e2e_test

import (
	"flag"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

var (
	soakFor  = flag.Duration("for", 10*time.Minute, "how long the soak runs")
	soakSeed = flag.Uint64("seed", 0, "of the soak's load and order of faults; 0 is a new one")
)

// soakReport names the file that a run of full length writes.
const soakReport = "EDGELIMIT_SOAK_REPORT"

const (
	longestBeat  = 5 * time.Second
	shortestBeat = 700 * time.Millisecond
	quietTime    = 3 * time.Second
	fullLength   = 10 * time.Minute // from here on slopes are judged and the page is written
)

// soak is a run: two gateways on one Redis, each over a link of its own.
type soak struct {
	*testing.T
	seed     uint64
	server   *redistest.Server
	behind   *soakUpstream
	gateways []*soaked
	begun    time.Time
	beat     time.Duration // from a fault to the next
	strikes  []strike
	lost     int64 // how often Redis lost what it knew
	keys     keyCount
	noise    noise
}

// soaked is a gateway under the load, and what is known of it.
type soaked struct {
	*process
	name    string
	link    *redistest.Link
	book    *book
	samples []sample
	warm    quiet // after the first rota
	cold    quiet // at the end
}

// TestSoak holds a mixed load, strikes with one fault after the other, each mended
// before the next, and compares the processes at rest after the first rota with
// the processes at rest at the end.
func TestSoak(t *testing.T) {
	s := newSoak(t)
	t.Logf("seed %d; %d kinds of fault, one every %v", s.seed, len(rota), s.beat)
	s.saturate()
	stop := s.watch()
	s.load(1, s.rotaOnce)
	s.rest(func(g *soaked) *quiet { return &g.warm })
	s.load(2, func() {
		for s.rotaOnce(); s.left() > s.beat; {
			s.rotaUntil(s.left)
		}
	})
	s.rest(func(g *soaked) *quiet { return &g.cold })
	stop()
	s.judge()
	for _, g := range s.gateways {
		g.signal(t, syscall.SIGTERM)
		if code := g.exit(t); code != 0 {
			t.Errorf("%s: got exit code %d after SIGTERM, want 0", g.name, code)
		}
		s.judgeLog(g)
	}
	page := s.page()
	t.Log("\n" + page)
	path := os.Getenv(soakReport)
	if path == "" || *soakFor < fullLength || t.Failed() {
		return
	}
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{T: t, seed: *soakSeed, server: redistest.Start(t), behind: newSoakUpstream(t), begun: time.Now()}
	if s.seed == 0 {
		s.seed = rand.Uint64()
	}
	// At least two whole rotas and the two rests have to fit.
	s.beat = min(longestBeat, (*soakFor-4*quietTime)/time.Duration(2*len(rota)))
	if s.beat < shortestBeat {
		t.Fatalf("%v is too short for two rotas of %d faults", *soakFor, len(rota))
	}
	program := filepath.Join(t.TempDir(), "edgelimit")
	if err := build(program, "-trimpath"); err != nil { // without the race detector, whose memory grows by itself
		t.Fatal(err)
	}
	for _, outage := range []string{"local-fallback", "fail-closed"} {
		g := &soaked{name: outage, link: redistest.NewLink(t, s.server.Addr()), book: newBook()}
		file := soakSettings(t, g.link.Addr(), s.behind.URL, outage).file(t)
		g.process = launch(t, nil, program, "serve", "--config", file, "--log-format", "json")
		g.awaitServing(t)
		s.gateways = append(s.gateways, g)
	}
	for _, g := range s.gateways {
		eventually(t, "readiness", func() bool { return g.readiness(t) == http.StatusOK && g.inboundReady(t) })
	}
	return s
}

// What the gateways allow. State is short-lived, so that what a stream of new
// subjects leaves behind is at its height well before the first rota ends.
const (
	hotCapacity, hotRefill = 20, 5 // of "api", the second a second
	anonymousLimit         = 30
)

func soakSettings(t testing.TB, redis, upstream, outage string) settings {
	t.Helper()
	short := func(id, algorithm string, more policy) policy {
		p := policy{"id": id, "revision": 1, "algorithm": algorithm, "max-cost": 5, "cleanup-grace": "3s"}
		for key, value := range more {
			p[key] = value
		}
		return p
	}
	return limiting(t, redis, upstream,
		short("api", "token-bucket", policy{"capacity": hotCapacity, "refill-tokens": hotRefill, "refill-period": "1s"}),
		short("search", "sliding-window-counter", policy{"limit": 30, "window": "2s"}),
		short("export", "fixed-window", policy{"limit": 10, "window": "2s"}),
		short("left", "token-bucket", policy{"capacity": 100000, "refill-tokens": 100000, "refill-period": "1s"}),
	).
		with("app.rate-limit.routes", []route{
			{"path": "/search/*", "policy": "search", "cost": 2}, {"path": "/export", "policy": "export"}, {"path": "/left", "policy": "left"},
		}).
		with("app.rate-limit.denial-cache", map[string]any{"max-entries": 1000, "max-age": "1s"}).
		with("app.rate-limit.redis.command-timeout", commandTimeout.String()).
		with("app.rate-limit.redis.admission-wait", admissionWait.String()).
		with("app.rate-limit.redis.max-in-flight", edgeInFlight).
		with("app.rate-limit.redis.breaker", map[string]string{"probe-every": "250ms"}).
		inboundWeb(t, redis).
		inbound("window", "2s").
		inbound("limits", map[string]int{"tenant": 120, "user": 8, "key": 0, "anonymous": anonymousLimit}).
		inbound("command-timeout", commandTimeout.String()).
		inbound("outage-policy", outage)
}

// left is how long the load still runs.
func (s *soak) left() time.Duration { return *soakFor - quietTime - time.Since(s.begun) }
