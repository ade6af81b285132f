package e2e_test

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// limitsService says of every tenant that its limit is what limit holds, and can be
// killed and started again.
type limitsService struct {
	limit  atomic.Int64
	asked  atomic.Int64
	addr   string
	server *http.Server
}

func newLimitsService(t *testing.T, limit int64) *limitsService {
	t.Helper()
	s := &limitsService{addr: "127.0.0.1:0"}
	s.limit.Store(limit)
	s.start(t)
	t.Cleanup(func() { _ = s.server.Close() })
	return s
}

func (s *limitsService) start(t *testing.T) {
	t.Helper()
	var socket net.Listener
	eventually(t, "the service's port", func() (ok bool) {
		var err error
		socket, err = net.Listen("tcp", s.addr)
		return err == nil
	})
	s.addr = socket.Addr().String()
	s.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		if r.Header.Get("Authorization") != "Bearer limits-token" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"tenant": %d, "user": %d}`, s.limit.Load(), s.limit.Load())
	})}
	go func() { _ = s.server.Serve(socket) }()
}

func (s *limitsService) kill(t *testing.T) {
	t.Helper()
	if err := s.server.Close(); err != nil {
		t.Fatal(err)
	}
}

// sourced adds a source of limits and its cache.
func (s settings) sourced(t *testing.T, service, cache string) settings {
	t.Helper()
	return s.with("app.inbound-web.limits-source", map[string]any{
		"url": "http://" + service + "/limits", "ttl": "1s", "timeout": "5s", "token-file": secretFile(t, "limits-token"),
	}).with("app.cache.redis", map[string]any{
		"enabled": true, "role": "cache", "endpoint": "redis://" + cache + "/0", "command-timeout": "5s",
		"hmac-secret-file": secretFile(t, hmacSecret),
	})
}

// The source is killed under load, then the cache too, and both come back.
func TestSource_killedUnderLoadNoRequestFailsAndLimitsStay(t *testing.T) {
	t.Parallel()
	service, cache, behind := newLimitsService(t, 90_000), redistest.Start(t), newUpstream(t)
	s := inboundWeb(t, "127.0.0.1:1", behind.URL).inbound("mode", "local").sourced(t, service.addr, cache.Addr())
	both := []*process{serve(t, s), serve(t, s)}
	var served atomic.Int64
	var limit atomic.Int64 // the last that a request was told
	stop := make(chan struct{})
	var load sync.WaitGroup
	for i := range 4 {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				got, err := try(http.MethodGet, "http://"+both[i%2].listen+"/", "", tenant("acme")...)
				told := got.header.Get("X-RateLimit-Limit")
				if err != nil || got.status != http.StatusOK || told != "90000" && told != "80000" {
					t.Errorf("got %d with the limit %q, %v, want 200 with a limit of the source", got.status, told, err)
					return
				}
				served.Add(1)
				limit.Store(integer(t, told))
			}
		})
	}
	during := func(what string, done func() bool) {
		before := served.Load()
		eventually(t, what, func() bool { return t.Failed() || done() && served.Load() > before+20 })
	}
	during("load", func() bool { return true })
	service.kill(t)
	during("question that fails", func() bool { return both[0].total(t, questions)+both[1].total(t, questions) > 0 && failed(t, both) > 0 })
	cache.Kill(t)
	during("call that the cache does not serve", func() bool { return both[0].total(t, cacheFailures) > 0 && both[1].total(t, cacheFailures) > 0 })
	if got := limit.Load(); got != 90_000 {
		t.Errorf("with both away the limit is %d, want it to stay 90000", got)
	}
	service.limit.Store(80_000)
	service.start(t)
	during("the new limit without the cache", func() bool { return limit.Load() == 80_000 })
	cache.Restart(t)
	during("the new limit in the cache", func() bool { return len(keysOf(t, cache)) == 1 })
	close(stop)
	load.Wait()
	t.Logf("%d requests, and the source was asked %d times", served.Load(), service.asked.Load())
}

const (
	questions     = "edgelimit_limits_source_questions_total"
	cacheFailures = "edgelimit_cache_failures_total"
)

func failed(t *testing.T, all []*process) (n int64) {
	for _, p := range all {
		n += integer(t, "0"+p.samples(t, questions)[`{result="failed"}`])
	}
	return n
}

func TestSource_withoutAnAnswerTheConfiguredLimitsHold(t *testing.T) {
	t.Parallel()
	behind := newUpstream(t)
	p := serve(t, inboundWeb(t, "127.0.0.1:1", behind.URL).inbound("mode", "local").sourced(t, "127.0.0.1:1", "127.0.0.1:1"))
	get(t, "http://"+p.listen+"/", tenant("acme")...).must(t, http.StatusOK).counts(t, 5, 4)
	get(t, "http://"+p.listen+"/", user("acme", "ann")...).must(t, http.StatusOK).counts(t, 3, 2)
	if got := p.readiness(t); got != http.StatusOK {
		t.Errorf("readiness is %d, want 200: nothing that is needed is away", got)
	}
}

// Neither the cache nor the coordination Redis notices the other's outage.
func TestSource_theCacheAndTheCoordinationRedisFailApart(t *testing.T) {
	t.Parallel()
	service, cache, coordination, behind := newLimitsService(t, 50), redistest.Start(t), redistest.Start(t), newUpstream(t)
	s := limiting(t, coordination.Addr(), behind.URL, fixedWindow("api", 1000)).
		inboundWeb(t, "127.0.0.1:1").inbound("mode", "local").sourced(t, service.addr, cache.Addr())
	p := serve(t, s)
	get(t, "http://"+p.listen+"/", tenant("acme")...).must(t, http.StatusOK).counts(t, 50, 49)

	cache.Kill(t)
	for range 5 {
		get(t, "http://"+p.listen+"/", tenant("globex")...).must(t, http.StatusOK)
	}
	if got := p.readiness(t); got != http.StatusOK {
		t.Errorf("without the cache readiness is %d, want 200", got)
	}
	for state, value := range p.samples(t, "edgelimit_breaker_state") {
		if want := map[bool]string{true: "1", false: "0"}[state == `{state="closed"}`]; value != want {
			t.Errorf("without the cache the coordination breaker's %s is %s, want %s", state, value, want)
		}
	}
	cache.Restart(t)
	eventually(t, "tenant in the cache again", func() bool {
		get(t, "http://"+p.listen+"/", tenant("initech")...).must(t, http.StatusOK)
		return len(keysOf(t, cache)) > 0
	})

	before := p.total(t, cacheFailures)
	coordination.Kill(t)
	for range 10 {
		get(t, "http://"+p.listen+"/", tenant("acme")...).must(t, http.StatusServiceUnavailable)
	}
	if got := p.total(t, cacheFailures) - before; got != 0 {
		t.Errorf("without the coordination Redis the cache failed %d times", got)
	}
	if got := len(keysOf(t, cache)); got == 0 {
		t.Error("the cache has lost what it held")
	}
}
