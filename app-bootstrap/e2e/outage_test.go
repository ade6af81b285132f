package e2e_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// What is promised of readiness. The tests of these times do not run beside others.
const (
	noticed = time.Second     // from the end of Redis to a 503
	back    = 2 * time.Second // from its coming to a 200
)

func (p *process) readiness(t testing.TB) int {
	t.Helper()
	return get(t, "http://"+p.admin+"/readyz").status
}

func TestOutage_redisAbsentAtStart(t *testing.T) {
	server, behind := redistest.Absent(t), newUpstream(t)
	p := serve(t, limiting(t, server.Addr(), behind.URL, fixedWindow("api", 1000)))
	get(t, "http://"+p.admin+"/healthz").must(t, http.StatusOK)
	unready := get(t, "http://"+p.admin+"/readyz").must(t, http.StatusServiceUnavailable)
	if !strings.Contains(unready.body, "connection refused") || !strings.Contains(unready.body, server.Addr()) {
		t.Errorf("readiness does not say why: %s", unready.body)
	}
	for range 10 { // the breaker's answers too
		got := get(t, "http://"+p.listen+"/").must(t, http.StatusServiceUnavailable).problem(t, "unavailable").
			says(t, "Retry-After: 1", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
		if strings.Contains(got.body, "refused") || strings.Contains(got.body, "CONNECTION") {
			t.Errorf("the body tells of the inside: %s", got.body)
		}
		evaluated := send(t, http.MethodPost, "http://"+p.admin+"/v1/rate-limit/evaluate", `{"subject":"alice"}`, "Content-Type: application/json")
		evaluated.must(t, http.StatusServiceUnavailable).problem(t, "unavailable").says(t, "Retry-After: 1")
		get(t, "http://"+p.admin+"/v1/rate-limit/authorize").must(t, http.StatusServiceUnavailable).problem(t, "unavailable")
	}
	if n := len(behind.requests()); n != 0 {
		t.Errorf("the upstream saw %d requests", n)
	}

	server.Restart(t)
	within(t, back, "readiness", func() bool { return p.readiness(t) == http.StatusOK })
	within(t, back, "answer from Redis", func() bool { return get(t, "http://"+p.listen+"/").status == http.StatusOK })
}

func TestOutage_redisKilledUnderLoad_neverAllows(t *testing.T) {
	server, behind := redistest.Start(t), newUpstream(t)
	p := serve(t, limiting(t, server.Addr(), behind.URL, fixedWindow("api", 1_000_000)))
	eventually(t, "readiness", func() bool { return p.readiness(t) == http.StatusOK })

	const clients, wanted = 8, 200
	var dead atomic.Bool // Redis is, for the whole of what begins and ends while it is true
	var allowed, whileDead, leaked atomic.Int64
	stop := make(chan struct{})
	var load sync.WaitGroup
	for range clients {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				begun := dead.Load()
				got, err := try(http.MethodGet, "http://"+p.listen+"/", "")
				if err != nil {
					t.Errorf("a client was cut: %v", err)
					return
				}
				switch throughout := begun && dead.Load(); {
				case got.status == http.StatusOK:
					allowed.Add(1)
					if throughout {
						leaked.Add(1)
					}
				case got.status != http.StatusServiceUnavailable:
					t.Errorf("got %d, want 200 or 503", got.status)
				case throughout:
					whileDead.Add(1)
				}
			}
		})
	}
	defer func() {
		close(stop)
		load.Wait()
	}()
	for round := range 2 {
		before := allowed.Load()
		eventually(t, "load that is let through", func() bool { return allowed.Load() > before+20 })
		answers := whileDead.Load()
		server.Kill(t)
		dead.Store(true)
		eventually(t, "200 answers without Redis", func() bool { return whileDead.Load() >= answers+wanted })
		dead.Store(false)
		server.Restart(t)
		within(t, back, "recovery", func() bool { return p.readiness(t) == http.StatusOK })
		if n := leaked.Load(); n != 0 {
			t.Fatalf("round %d: %d requests were let through without Redis", round, n)
		}
	}
}

// A time that was missed once is measured once more, and said.
func TestOutage_readinessNoticesWithinASecond(t *testing.T) {
	server := redistest.Start(t)
	p := serve(t, limiting(t, server.Addr(), "", fixedWindow("api", 1000)).
		with("app.rate-limit.redis.command-timeout", "50ms"))
	ready := func() bool { return p.readiness(t) == http.StatusOK }
	unready := func() bool { return !ready() }
	missed := 0
	for _, row := range []struct {
		sentence    string
		away, again func(testing.TB)
	}{
		{"a stopped process", server.Pause, server.Resume},
		{"a killed process", server.Kill, server.Restart},
	} {
		for range 3 {
			within(t, back, "readiness before "+row.sentence, ready)
			row.away(t)
			if took, noise := measure(t, "503 after "+row.sentence, unready); took > noticed {
				missed++
				t.Logf("%s was noticed after %v, want %v; the machine paused for up to %v meanwhile", row.sentence, took, noticed, noise)
			}
			got := get(t, "http://"+p.admin+"/v1/rate-limit/authorize").must(t, http.StatusServiceUnavailable)
			if outcome := got.object(t)["outcome"]; outcome != "unavailable" && outcome != "indeterminate" {
				t.Errorf("got the outcome %v, want one that is no decision", outcome)
			}
			get(t, "http://"+p.admin+"/healthz").must(t, http.StatusOK)
			row.again(t)
		}
	}
	if missed > 1 {
		t.Errorf("the promised %v was missed %d times of 6", noticed, missed)
	}
}

func TestOutage_aLostReplyIsIndeterminateAndChargedOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	link := redistest.NewLink(t, server.Addr())
	p := serve(t, limiting(t, link.Addr(), "", fixedWindow("api", 10)))
	ask := "http://" + p.listen + "/v1/rate-limit/authorize"
	get(t, ask).must(t, http.StatusOK).says(t, "X-RateLimit-Remaining: 9")
	link.Fault("EVALSHA", 1, redistest.LoseReply())
	get(t, ask).must(t, http.StatusServiceUnavailable).problem(t, "indeterminate").says(t, "Retry-After: 1", "X-RateLimit-Limit")
	get(t, ask).must(t, http.StatusOK).says(t, "X-RateLimit-Remaining: 7")
}

func TestOutage_stateOfAnotherKindIsIncompatible(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := serve(t, limiting(t, server.Addr(), "", fixedWindow("api", 10)))
	ask := "http://" + p.listen + "/v1/rate-limit/authorize"
	get(t, ask).must(t, http.StatusOK)
	for _, key := range keysOf(t, server) {
		if strings.Contains(key, ":state:") {
			server.Do(t, "SET", key, "not a hash")
		}
	}
	get(t, ask).must(t, http.StatusServiceUnavailable).problem(t, "incompatible").says(t, "Retry-After", "X-RateLimit-Limit")
}
