package middleware_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/internal/edgetest"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limiter"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/middleware"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// sourced is a handler that claims every field of the limiters.
func sourced(w http.ResponseWriter, r *http.Request) {
	upstreamClaims(w, r)
	w.Header().Set("X-RateLimit-Source", "upstream")
}

func TestBoth_firstTheEdgeThenInbound(t *testing.T) {
	outage := limiter.Failing(slidinglog.ErrUnavailable)
	const edgeReset, second = 2, time.Second
	for _, row := range []struct {
		sentence string
		edge     ratelimit.Outcome
		inbound  limiter.Answer
		asked    int // calls of the inbound limiter
		status   int
		want     string
		heard    string
	}{
		{"inbound has less left", edgetest.Allowed(100, 99), layers(true, 0, left(4, second), left(3, second)), 1, 200, lines(5, 3, 1), ""},
		{"the edge has less left", edgetest.Allowed(100, 2), layers(true, 0, left(4, second), left(3, second)), 1, 200, lines(100, 2, edgeReset), ""},
		{"a tie is the edge's", edgetest.Allowed(100, 3), layers(true, 0, left(4, second), left(3, second)), 1, 200, lines(100, 3, edgeReset), ""},
		{"the edge denies", edgetest.Denied(100, 0, 7*second), limiter.Answer{}, 0, 429, "retry-after=7 " + lines(100, 0, edgeReset), ""},
		{"inbound denies", edgetest.Allowed(100, 99), layers(false, 9*second, left(4, 9*second), left(0, 9*second)), 1, 429,
			"retry-after=9 " + lines(5, 0, 9), "rejected acme user, charged then denied"},
		{"inbound denies, and the edge gave its last", edgetest.Allowed(100, 0), layers(false, 9*second, left(4, 9*second), left(0, 9*second)), 1, 429,
			"retry-after=9 " + lines(100, 0, edgeReset), "rejected acme user, charged then denied"},
		{"the edge is unavailable", ratelimit.Unavailable{RetryAfter: second}.Outcome(), limiter.Answer{}, 0, 503, "retry-after=1", ""},
		{"the edge does not know", ratelimit.Indeterminate{RetryAfter: second}.Outcome(), limiter.Answer{}, 0, 503, "retry-after=1", ""},
		{"the edge is incompatible", ratelimit.Incompatible{}.Outcome(), limiter.Answer{}, 0, 503, "", ""},
		{"inbound falls back", edgetest.Allowed(100, 99), outage, 1, 200, lines(5, 1, 60) + " x-ratelimit-source=local", "fell back unavailable"},
		{"inbound falls back, and the edge has less left", edgetest.Allowed(100, 0), outage, 1, 200,
			lines(100, 0, edgeReset) + " x-ratelimit-source=local", "fell back unavailable"},
		{"inbound fails", edgetest.Allowed(100, 99), limiter.Failing(slidinglog.ErrIncompatible), 1, 503, "", "failed incompatible"},
		{"inbound refuses", edgetest.Allowed(100, 99), limiter.Failing(slidinglog.ErrInvalid), 1, 400, "", "failed invalid"},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			port, script, heard := edgetest.Always(row.edge), limiter.NewScripted(row.inbound), &watch{}
			local := limiter.NewScripted(limiter.Allowing(1, 1))
			m := inbound(t, script)
			m.Observer, m.Fallback = heard, &middleware.LocalFallback{Limiter: local, DualLayerLimiter: local}
			router := chi.NewRouter()
			router.Use(middleware.Edge(edgetest.Judge(t, edgetest.Setup{Port: port})), m.Handler)
			router.Get("/", sourced)
			res := do(router, from(ann))
			if got := rateLines(res.Header); res.StatusCode != row.status || got != row.want {
				t.Errorf("got %d, %s; want %d, %s", res.StatusCode, got, row.status, row.want)
			}
			if len(port.Asked()) != 1 || len(script.Calls()) != row.asked {
				t.Errorf("the edge was asked %d times, inbound %d; want 1, %d", len(port.Asked()), len(script.Calls()), row.asked)
			}
			if heard.all() != row.heard {
				t.Errorf("heard %q, want %q", heard.all(), row.heard)
			}
		})
	}
}

func TestBoth_onlyTheEdgeCharges(t *testing.T) {
	heard := &watch{}
	outer, inner := inbound(t, limiter.NewScripted(limiter.Allowing(3, 3))), inbound(t, limiter.NewScripted(limiter.Denying(time.Second, 0, 3)))
	inner.Observer = heard
	res := do(outer.Handler(inner.Handler(http.HandlerFunc(ok))), from(ann))
	if res.StatusCode != 429 || heard.all() != "rejected acme tenant" {
		t.Errorf("two inbound limiters: got %d, heard %q", res.StatusCode, heard.all())
	}
}

func TestBoth_theEdgeBetweenChargesToo(t *testing.T) {
	heard := &watch{}
	outer, inner := inbound(t, limiter.NewScripted(limiter.Allowing(3, 3))), inbound(t, limiter.NewScripted(limiter.Denying(time.Second, 0, 3)))
	inner.Observer = heard
	edge := middleware.Edge(edgetest.Judge(t, edgetest.Setup{Port: edgetest.Always(edgetest.Allowed(10, 9))}))
	res := do(outer.Handler(edge(inner.Handler(http.HandlerFunc(ok)))), from(ann))
	if res.StatusCode != 429 || heard.all() != "rejected acme tenant, charged then denied" {
		t.Errorf("got %d, heard %q", res.StatusCode, heard.all())
	}
}

func TestBoth_anExemptPreflightIsTheEdgesAlone(t *testing.T) {
	script := limiter.NewScripted()
	h := middleware.Edge(edgetest.Judge(t, edgetest.Setup{Port: edgetest.Always(edgetest.Allowed(10, 9))}))(inbound(t, script).Handler(http.HandlerFunc(ok)))
	r := from(nobody)
	r.Method = http.MethodOptions
	r.Header.Set("Origin", "https://a.example")
	r.Header.Set("Access-Control-Request-Method", "PUT")
	if res := do(h, r); res.StatusCode != 200 || rateLines(res.Header) != tenLeftNine || len(script.Calls()) != 0 {
		t.Errorf("got %d, %s, inbound was asked %d times", res.StatusCode, rateLines(res.Header), len(script.Calls()))
	}
}

// TestRateLimit_twoUsersOfOneTenant is the whole way, with local limiters.
func TestRateLimit_twoUsersOfOneTenant(t *testing.T) {
	single, err := limiter.NewLocalLimiter(limiter.LocalConfig{Clock: func() int64 { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	m := inbound(t, nil)
	m.Limiter, m.DualLayerLimiter = single, single.Dual()
	m.Limits = func(context.Context, identity.Principal) middleware.Limits {
		return middleware.Limits{Tenant: 4, User: 3, Key: 3, Anonymous: 1}
	}
	h := m.Handler(http.HandlerFunc(ok))
	bob := identity.Principal{Tenant: "acme", User: "bob"}
	for i, row := range []struct {
		who    identity.Principal
		status int
		want   string
	}{
		{ann, 200, lines(3, 2, 60)},
		{ann, 200, lines(3, 1, 60)},
		{ann, 200, lines(3, 0, 60)},
		{ann, 429, "retry-after=60 " + lines(3, 0, 60)},
		{bob, 200, lines(4, 0, 60)},
		{bob, 429, "retry-after=60 " + lines(4, 0, 60)},
		{acme, 429, "retry-after=60 " + lines(4, 0, 60)},
		{nobody, 200, lines(3, 0, 60)},
	} {
		if row.who == nobody {
			row.want = lines(1, 0, 60)
		}
		res := do(h, from(row.who))
		if got := rateLines(res.Header); res.StatusCode != row.status || got != row.want {
			t.Errorf("request %d: got %d, %s; want %d, %s", i+1, res.StatusCode, got, row.status, row.want)
		}
	}
}

// limited is next behind an inbound limiter that allows one call.
func limited(t testing.TB, next http.HandlerFunc) *httptest.Server {
	return serve(t, inbound(t, limiter.NewScripted(limiter.Allowing(2))).Handler(next))
}

var onceLeftTwo = lines(3, 2, 60)

func TestRateLimit_anEventArrivesBeforeTheStreamEnds(t *testing.T) {
	end := make(chan struct{})
	server := limited(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range 2 {
			_, _ = fmt.Fprintf(w, "data: %d\n", i)
			w.(http.Flusher).Flush()
			<-end
		}
	})
	res, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	events := bufio.NewReader(res.Body)
	for i := range 2 {
		if line, err := events.ReadString('\n'); line != fmt.Sprintf("data: %d\n", i) || err != nil {
			t.Fatalf("got %q, %v", line, err)
		}
		end <- struct{}{}
	}
	if got := rateLines(res.Header); got != onceLeftTwo {
		t.Errorf("got %s, want %s", got, onceLeftTwo)
	}
}

func TestRateLimit_upgrades(t *testing.T) {
	for sentence, next := range map[string]http.HandlerFunc{"by a hijack": echo, "by a reverse proxy": proxyTo(t, echo)} {
		t.Run(sentence, func(t *testing.T) {
			conn, r := wire(t, limited(t, next), upgrade)
			status, header := head(t, r)
			if !strings.Contains(status, " 101 ") {
				t.Fatalf("got %s, want 101", status)
			}
			if got := rateLines(header); sentence == "by a reverse proxy" && got != onceLeftTwo {
				t.Errorf("got %s, want %s", got, onceLeftTwo)
			}
			echoes(t, conn, r)
		})
	}
}

func TestRateLimit_writerClaimsWhatLiesBelow(t *testing.T) {
	below := flushHijackable{hijackable{&plain{header: http.Header{}}}}
	inbound(t, limiter.NewScripted(limiter.Allowing(2))).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, flushes := w.(http.Flusher)
		_, hijacks := w.(http.Hijacker)
		u, unwraps := w.(interface{ Unwrap() http.ResponseWriter })
		if !flushes || !hijacks || !unwraps || u.Unwrap() != below {
			t.Errorf("flushes %v, hijacks %v, unwraps %v", flushes, hijacks, unwraps)
		}
	})).ServeHTTP(below, from(nobody))
}

func TestRateLimit_aSlowHandlerHoldsNobodyUp(t *testing.T) {
	single, err := limiter.NewLocalLimiter(limiter.LocalConfig{})
	if err != nil {
		t.Fatal(err)
	}
	m := inbound(t, nil)
	m.Limiter, m.DualLayerLimiter = single, single.Dual()
	begun, end := make(chan struct{}), make(chan struct{})
	var busy atomic.Bool
	h := m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if busy.CompareAndSwap(false, true) {
			close(begun)
			<-end
		}
	}))
	var stream sync.WaitGroup
	stream.Go(func() { do(h, from(ann)) })
	<-begun
	for range 3 {
		do(h, from(ann)) // would never return if the stream held a lock
		if v, err := single.AllowContext(t.Context(), "rl:{acme}", 10); !v.Allowed || err != nil {
			t.Errorf("got %+v, %v", v, err)
		}
	}
	close(end)
	stream.Wait()
}
