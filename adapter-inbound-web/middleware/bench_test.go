package middleware_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/internal/edgetest"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limiter"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/middleware"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// instant is a port that answers at once.
type instant struct{ outcome ratelimit.Outcome }

func (p instant) Evaluate(context.Context, ratelimit.Request) ratelimit.Outcome { return p.outcome }

// trivial answers as a small upstream does.
var (
	contentType   = []string{"text/plain"}
	contentLength = []string{"5"}
	trivial       = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["Content-Type"], h["Content-Length"] = contentType, contentLength
		w.WriteHeader(http.StatusOK)
		ok(w, r)
	})
)

// served is a way through one handler, called as a server calls it: with a header
// that is empty and a context that ends with the request.
func served(tb testing.TB, h http.Handler, remote string) (call func()) {
	tb.Helper()
	r := httptest.NewRequest(http.MethodGet, "/orders/4711/lines/7/of/the/second/page", nil)
	r.RemoteAddr = remote
	for _, name := range []string{"Accept", "Accept-Encoding", "Authorization", "Cookie", "Referer", "User-Agent"} {
		r.Header.Set(name, "any")
	}
	ctx, cancel := context.WithCancel(r.Context())
	tb.Cleanup(cancel)
	r = r.WithContext(ctx)
	r.Context().Done() // the server waits for it
	w := &edgetest.Nowhere{Sent: http.Header{}}
	return func() {
		clear(w.Sent)
		h.ServeHTTP(w, r)
	}
}

// crossing is a way through the middlewares, or past them.
type crossing struct {
	name, remote string
	handler      http.Handler
	allocations  float64 // of one request, at most
}

func crossings(t testing.TB) []crossing {
	t.Helper()
	edge := func(o ratelimit.Outcome) func(http.Handler) http.Handler {
		return middleware.Edge(edgetest.Judge(t, edgetest.Setup{Port: instant{o}}))
	}
	single, err := limiter.NewLocalLimiter(limiter.LocalConfig{Clock: func() int64 { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	inner := inbound(t, nil)
	inner.Limiter, inner.DualLayerLimiter = single, single.Dual()
	inner.Limits = func(context.Context, identity.Principal) middleware.Limits {
		return middleware.Limits{Anonymous: 1 << 30}
	}
	const v4, v6 = "203.0.113.7:4711", "[2001:db8:1:1::1]:4711"
	allowed := edgetest.Allowed(1000, 999)
	return []crossing{
		{"no middleware", v4, trivial, 0},
		{"edge allows", v4, edge(allowed)(trivial), 14},
		{"edge allows IPv6", v6, edge(allowed)(trivial), 14},
		{"edge denies", v4, edge(edgetest.Denied(1000, 0, 7*time.Second))(trivial), 15},
		{"edge is unavailable", v4, edge(ratelimit.Unavailable{}.Outcome())(trivial), 13},
		{"inbound allows", v4, inner.Handler(trivial), 10},
		{"both allow", v4, edge(allowed)(inner.Handler(trivial)), 18},
	}
}

// BenchmarkMiddleware is what a request costs, the limiters' own answers left out.
func BenchmarkMiddleware(b *testing.B) {
	for _, c := range crossings(b) {
		b.Run(c.name, func(b *testing.B) {
			call := served(b, c.handler, c.remote)
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}
