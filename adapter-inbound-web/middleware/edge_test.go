package middleware_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/internal/edgetest"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/middleware"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/route"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// guarded is next behind the edge, over port.
func guarded(t testing.TB, port ratelimit.EdgeRateLimitPort, next http.HandlerFunc) http.Handler {
	t.Helper()
	return middleware.Edge(edgetest.Judge(t, edgetest.Setup{Port: port}))(next)
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

func get(h http.Handler, target string) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
	return w.Result()
}

func TestEdge_answersForEachOutcome(t *testing.T) {
	for _, row := range []struct {
		sentence string
		outcome  ratelimit.Outcome
		status   int
	}{
		{"allowed goes through", edgetest.Allowed(10, 9), 200},
		{"denied does not", edgetest.Denied(10, 0, time.Second), 429},
		{"unavailable does not", ratelimit.Unavailable{}.Outcome(), 503},
		{"indeterminate does not", ratelimit.Indeterminate{}.Outcome(), 503},
		{"incompatible does not", ratelimit.Incompatible{Category: ratelimit.IncompatibleRequest}.Outcome(), 503},
		{"nor does the zero outcome", ratelimit.Outcome{}, 503},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			var reached bool
			res := get(guarded(t, edgetest.Always(row.outcome), func(http.ResponseWriter, *http.Request) { reached = true }), "/")
			if res.StatusCode != row.status || reached != (row.status == 200) {
				t.Errorf("got %d, handler reached %v; want %d", res.StatusCode, reached, row.status)
			}
		})
	}
}

func TestEdge_refusesAmbiguousPathsUncharged(t *testing.T) {
	port := edgetest.Always(edgetest.Allowed(10, 9))
	h := guarded(t, port, ok)
	for _, target := range []string{"//login", "/./login", "/x/../login", "/x/%2e%2e/login", "/users/1%2Forders", "/a%5cb"} {
		if res := get(h, target); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: got %d, want 400", target, res.StatusCode)
		}
	}
	if asked := port.Asked(); len(asked) != 0 {
		t.Errorf("the port was asked %d times, want never", len(asked))
	}
}

func TestEdge_spellingsOfOneHandlerShareOneBudget(t *testing.T) {
	port := edgetest.Always(edgetest.Allowed(10, 9))
	judge := edgetest.Judge(t, edgetest.Setup{Port: port, RawPaths: route.ForwardRawPaths, Rules: []route.Rule{
		{Path: "/login", Policy: "search", Cost: 1}, {Path: "/users/*", Policy: "search", Cost: 1}}})
	h := middleware.Edge(judge)(http.HandlerFunc(ok))
	for _, target := range []string{"/login", "//login", "/login/", "/./login", "/x/../login", "/%6cogin", "/login?x=1", "/users/1", "/users/1000"} {
		get(h, target)
	}
	for i, req := range port.Asked() {
		if req != port.Asked()[0] || req.PolicyID != "search" {
			t.Errorf("request %d: asked %+v, want what the first asked", i, req)
		}
	}
}

func TestEdge_remainingCountsDownToZero(t *testing.T) {
	server := httptest.NewServer(guarded(t, edgetest.Counting(5), ok))
	defer server.Close()
	var (
		mu      sync.Mutex
		allowed []string
		wg      sync.WaitGroup
	)
	for range 50 {
		wg.Go(func() {
			res, err := http.Get(server.URL)
			if err != nil {
				t.Error(err)
				return
			}
			_ = res.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			remaining := res.Header.Get("X-RateLimit-Remaining")
			if res.StatusCode == http.StatusOK {
				allowed = append(allowed, remaining)
			} else if res.StatusCode != http.StatusTooManyRequests || remaining != "0" || res.Header.Get("Retry-After") != "1" {
				t.Errorf("got %d, remaining %s, Retry-After %s; want 429, 0, 1", res.StatusCode, remaining, res.Header.Get("Retry-After"))
			}
		})
	}
	wg.Wait()
	slices.Sort(allowed)
	if got := strings.Join(allowed, ","); got != "0,1,2,3,4" {
		t.Errorf("allowed responses carry %s, want 0,1,2,3,4", got)
	}
}

func TestEdge_handlerNeverSeesWhatAStrangerClaims(t *testing.T) {
	var seen http.Header
	judge := edgetest.Judge(t, edgetest.Setup{Port: edgetest.Always(edgetest.Allowed(10, 9)), Trusted: []string{"10.0.0.0/8"}, Header: "X-Client-Id"})
	h := middleware.Edge(judge)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.Header }))
	for peer, want := range map[string]int{"198.51.100.9:1": 0, "10.0.0.1:1": 2} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = peer
		r.Header.Set("X-Client-Id", "acme")
		r.Header.Set("X-Forwarded-For", "203.0.113.7")
		h.ServeHTTP(httptest.NewRecorder(), r)
		if len(seen) != want {
			t.Errorf("from %s the handler sees %v, want %d headers", peer, seen, want)
		}
	}
}

func TestEdge_aSlowHandlerHoldsNobodyUp(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	h := guarded(t, edgetest.Always(edgetest.Allowed(10, 9)), func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			close(begun)
			<-end
		}
	})
	var stream sync.WaitGroup
	stream.Go(func() { get(h, "/stream") })
	<-begun
	for range 100 {
		get(h, "/short") // would never return if the stream held a lock
	}
	close(end)
	stream.Wait()
}

func TestEdge_aClientThatLeavesReachesNoHandler(t *testing.T) {
	asked, left := make(chan struct{}), make(chan struct{})
	port := &edgetest.Port{Answer: func(ctx context.Context, _ ratelimit.Request) ratelimit.Outcome {
		close(asked)
		<-ctx.Done()
		return ratelimit.Indeterminate{PolicyID: "api"}.Outcome()
	}}
	h := guarded(t, port, func(http.ResponseWriter, *http.Request) { t.Error("the handler was reached") })
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(left)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx))
	}()
	<-asked
	cancel()
	<-left
}

// upstreamClaims is a handler with rate limit headers of its own.
func upstreamClaims(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("X-RateLimit-Limit", "7")
	h.Add("X-RateLimit-Limit", "8")
	h["x-ratelimit-remaining"] = []string{"7"}
	h.Set("Retry-After", "9")
	h.Set("Cache-Control", "max-age=60")
}

// rateLines are the limiter's header lines, sorted.
func rateLines(h http.Header) string {
	var lines []string
	for name, values := range h {
		if strings.HasPrefix(strings.ToLower(name), "x-ratelimit-") || strings.EqualFold(name, "Retry-After") {
			for _, v := range values {
				lines = append(lines, strings.ToLower(name)+"="+v)
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, " ")
}

const tenLeftNine = "x-ratelimit-limit=10 x-ratelimit-remaining=9 x-ratelimit-reset=2"

func TestEdge_headersOfTheHandlerDoNotSurvive(t *testing.T) {
	for _, row := range []struct {
		sentence string
		finish   func(w http.ResponseWriter)
	}{
		{"when it writes nothing", func(http.ResponseWriter) {}},
		{"when it writes a status", func(w http.ResponseWriter) { w.WriteHeader(http.StatusTeapot) }},
		{"when it writes a body", func(w http.ResponseWriter) { _, _ = w.Write([]byte("x")) }},
		{"when it writes a string", func(w http.ResponseWriter) { _, _ = io.WriteString(w, "x") }},
		{"when it copies a reader", func(w http.ResponseWriter) { _, _ = io.Copy(w, struct{ io.Reader }{strings.NewReader("x")}) }},
		{"when it flushes", func(w http.ResponseWriter) { w.(http.Flusher).Flush() }},
		{"when it flushes by a controller", func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }},
		{"when it sets them again afterwards", func(w http.ResponseWriter) { w.WriteHeader(200); upstreamClaims(w, nil) }},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			h := guarded(t, edgetest.Always(edgetest.Allowed(10, 9)), func(w http.ResponseWriter, r *http.Request) {
				upstreamClaims(w, r)
				row.finish(w)
			})
			server := httptest.NewServer(h)
			defer server.Close()
			res, err := http.Get(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			recorded := get(h, "/").Header
			for _, header := range []http.Header{res.Header, recorded} {
				if got := rateLines(header); got != tenLeftNine {
					t.Errorf("got %s, want %s", got, tenLeftNine)
				}
				if got := header.Get("Cache-Control"); got != "max-age=60" {
					t.Errorf("Cache-Control: got %q, want the handler's", got)
				}
			}
		})
	}
}

func TestEdge_twoOfThemTellTheTighterAnswer(t *testing.T) {
	for _, row := range []struct {
		sentence     string
		outer, inner ratelimit.Outcome
		status       int
		want         string
	}{
		{"the inner has less left", edgetest.Allowed(100, 99), edgetest.Allowed(5, 4), 200,
			"x-ratelimit-limit=5 x-ratelimit-remaining=4 x-ratelimit-reset=2"},
		{"the outer has less left", edgetest.Allowed(10, 1), edgetest.Allowed(5, 4), 200,
			"x-ratelimit-limit=10 x-ratelimit-remaining=1 x-ratelimit-reset=2"},
		{"the inner denies", edgetest.Allowed(10, 1), edgetest.Denied(5, 3, 4*time.Second), 429,
			"retry-after=4 x-ratelimit-limit=5 x-ratelimit-remaining=3 x-ratelimit-reset=2"},
		{"the inner fails", edgetest.Allowed(10, 1), ratelimit.Outcome{}, 503, "retry-after=1"},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			router := chi.NewRouter()
			router.Use(middleware.Edge(edgetest.Judge(t, edgetest.Setup{Port: edgetest.Always(row.outer)})))
			router.With(middleware.Edge(edgetest.Judge(t, edgetest.Setup{Port: edgetest.Always(row.inner)}))).Get("/", upstreamClaims)
			res := get(router, "/")
			if got := rateLines(res.Header); res.StatusCode != row.status || got != row.want {
				t.Errorf("got %d, %s; want %d, %s", res.StatusCode, got, row.status, row.want)
			}
		})
	}
}

func TestEdge_theInnermostOfThreeIsToldToo(t *testing.T) {
	h := http.Handler(http.HandlerFunc(upstreamClaims))
	for _, o := range []ratelimit.Outcome{edgetest.Allowed(10, 9), edgetest.Allowed(50, 40), edgetest.Allowed(100, 99)} {
		h = middleware.Edge(edgetest.Judge(t, edgetest.Setup{Port: edgetest.Always(o)}))(h)
	}
	if got := rateLines(get(h, "/").Header); got != tenLeftNine {
		t.Errorf("got %s, want %s", got, tenLeftNine)
	}
}

func TestEdge_survivesATimeoutHandlerBetween(t *testing.T) {
	j := edgetest.Judge(t, edgetest.Setup{Port: edgetest.Always(edgetest.Allowed(10, 9))})
	inner := middleware.Edge(j)(http.HandlerFunc(upstreamClaims))
	h := middleware.Edge(j)(http.TimeoutHandler(inner, time.Minute, "late"))
	if got := rateLines(get(h, "/").Header); got != tenLeftNine {
		t.Errorf("got %s, want %s", got, tenLeftNine)
	}
}

func ExampleEdge() {
	var t testing.T
	judge := edgetest.Judge(&t, edgetest.Setup{Port: edgetest.Counting(1)})
	router := chi.NewRouter()
	router.Use(middleware.Edge(judge))
	router.Get("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	for range 2 {
		res := get(router, "/")
		fmt.Printf("%d, remaining %s, retry after %q\n", res.StatusCode,
			res.Header.Get("X-RateLimit-Remaining"), res.Header.Get("Retry-After"))
	}
	// Output:
	// 200, remaining 0, retry after ""
	// 429, remaining 0, retry after "1"
}
