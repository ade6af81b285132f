package middleware_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limiter"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limitkey"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/middleware"
	"github.com/edgelimit/edgelimit/shared-contract/secret"
)

// watch is an Observer that remembers what it heard, in order.
type watch struct {
	mu    sync.Mutex
	heard []string
}

func (w *watch) hear(words ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = append(w.heard, strings.Join(words, " "))
}

func (w *watch) Rejected(tenant string, layer middleware.Layer) {
	w.hear("rejected", tenant, string(layer))
}
func (w *watch) FellBack(reason string) { w.hear("fell back", reason) }
func (w *watch) Failed(reason string)   { w.hear("failed", reason) }
func (w *watch) ChargedThenDenied()     { w.hear("charged then denied") }

func (w *watch) all() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.heard, ", ")
}

// plain hides what a limiter has beyond the plain interfaces.
type plainSingle struct{ limiter.RateLimiter }
type plainDual struct{ limiter.DualLayerLimiter }

var fixedLimits = middleware.Limits{Tenant: 10, User: 5, Key: 4, Anonymous: 3}

// inbound is a middleware with every layer decided by l, that trusts 10.0.0.0/8.
func inbound(t testing.TB, l *limiter.Scripted) middleware.RateLimitMiddleware {
	t.Helper()
	proxies, err := identity.ParseProxies([]string{"10.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	resolver, err := identity.NewResolver(identity.Config{
		Proxies: proxies, IPv6PrefixBits: identity.DefaultIPv6PrefixBits,
		Principal: identity.PrincipalHeaders{Tenant: "X-Tenant-Id", User: "X-User-Id", Key: "X-Key-Id"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := secret.New(bytes.Repeat([]byte("k"), secret.MinLen))
	if err != nil {
		t.Fatal(err)
	}
	return middleware.RateLimitMiddleware{
		Limiter: l, DualLayerLimiter: l, Resolver: resolver, Keys: limitkey.New(s),
		Limits: func(context.Context, identity.Principal) middleware.Limits { return fixedLimits },
	}
}

// from is a request of p, if it is not anonymous, by a stranger.
func from(p identity.Principal) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = "203.0.113.7:1"
	return r.WithContext(identity.WithPrincipal(r.Context(), p))
}

func do(h http.Handler, r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

var (
	acme   = identity.Principal{Tenant: "acme"}
	ann    = identity.Principal{Tenant: "acme", User: "ann"}
	byKey  = identity.Principal{Tenant: "acme", Key: "k1"}
	nobody = identity.Principal{}
)

// called is a call of two layers.
func called(tenantKey string, tenantLimit int, userKey string, userLimit int) limiter.Call {
	return limiter.Call{TenantKey: tenantKey, TenantLimit: tenantLimit, UserKey: userKey, UserLimit: userLimit}
}

const annsAddress = "rl:anon:8H0e4oUpjWhdd3aUQhzgYQ" // 203.0.113.7

func TestRateLimit_asksOnceWithTheKeysAndLimitsOfThePrincipal(t *testing.T) {
	for _, row := range []struct {
		sentence  string
		principal identity.Principal
		change    func(m *middleware.RateLimitMiddleware)
		want      limiter.Call
	}{
		{"an anonymous client is its address", nobody, nil, limiter.Call{TenantKey: annsAddress, TenantLimit: 3}},
		{"a tenant alone is one layer", acme, nil, limiter.Call{TenantKey: "rl:{acme}", TenantLimit: 10}},
		{"a user is two", ann, nil, called("rl:{acme}", 10, "rl:{acme}:user:ann", 5)},
		{"a key is two", byKey, nil, called("rl:{acme}", 10, "rl:{acme}:key:k1", 4)},
		{"with both, the user counts", identity.Principal{Tenant: "acme", User: "ann", Key: "k1"}, nil,
			called("rl:{acme}", 10, "rl:{acme}:user:ann", 5)},
		{"without a dual-layer limiter a user is the tenant", ann,
			func(m *middleware.RateLimitMiddleware) { m.DualLayerLimiter = nil }, limiter.Call{TenantKey: "rl:{acme}", TenantLimit: 10}},
		{"and so it is with a nil pointer in the field", ann,
			func(m *middleware.RateLimitMiddleware) { m.DualLayerLimiter = (*limiter.LocalDualLimiter)(nil) },
			limiter.Call{TenantKey: "rl:{acme}", TenantLimit: 10}},
		{"limits are the principal's own", ann, func(m *middleware.RateLimitMiddleware) {
			m.Limits = func(_ context.Context, p identity.Principal) middleware.Limits {
				return middleware.Limits{Tenant: 100 * len(p.Tenant), User: len(p.User)}
			}
		}, called("rl:{acme}", 400, "rl:{acme}:user:ann", 3)},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			script := limiter.NewScripted(limiter.Allowing(2, 2))
			m := inbound(t, script)
			if row.change != nil {
				row.change(&m)
			}
			res := do(m.Handler(http.HandlerFunc(ok)), from(row.principal))
			if calls := script.Calls(); res.StatusCode != 200 || len(calls) != 1 || calls[0] != row.want {
				t.Errorf("got %d, asked %+v; want 200, %+v", res.StatusCode, calls, row.want)
			}
		})
	}
}

func TestRateLimit_headersNameTrustedPeersPrincipals(t *testing.T) {
	long := strings.Repeat("a", 257)
	for _, row := range []struct {
		sentence, peer string
		headers        []string
		status         int
		want           string // the keys that were asked for
	}{
		{"a trusted peer names a user", "10.0.0.1:1", []string{"X-Tenant-Id", "acme", "X-User-Id", "ann"}, 200, "rl:{acme} rl:{acme}:user:ann"},
		{"or a key", "10.0.0.1:1", []string{"X-Tenant-Id", "acme", "X-Key-Id", "k1"}, 200, "rl:{acme} rl:{acme}:key:k1"},
		{"or a tenant alone", "10.0.0.1:1", []string{"X-Tenant-Id", " acme "}, 200, "rl:{acme}"},
		{"an empty header is absent", "10.0.0.1:1", []string{"X-Tenant-Id", "acme", "X-User-Id", ""}, 200, "rl:{acme}"},
		{"ids are escaped", "10.0.0.1:1", []string{"X-Tenant-Id", "a}:user:b"}, 200, "rl:{a%7D%3Auser%3Ab}"},
		{"a stranger's headers are nothing", "203.0.113.7:1", []string{"X-Tenant-Id", "acme", "X-User-Id", "ann"}, 200, annsAddress},
		{"not even twice", "203.0.113.7:1", []string{"X-User-Id", "a", "X-User-Id", "b"}, 200, annsAddress},
		{"a user without a tenant", "10.0.0.1:1", []string{"X-User-Id", "ann"}, 400, ""},
		{"a key with an empty tenant", "10.0.0.1:1", []string{"X-Tenant-Id", "", "X-Key-Id", "k1"}, 400, ""},
		{"two lines", "10.0.0.1:1", []string{"X-Tenant-Id", "acme", "X-User-Id", "a", "X-User-Id", "a"}, 400, ""},
		{"257 bytes", "10.0.0.1:1", []string{"X-Tenant-Id", long}, 400, ""},
		{"more than 256 bytes once it is escaped", "10.0.0.1:1", []string{"X-Tenant-Id", strings.Repeat("{", 100)}, 400, ""},
		{"a peer without an address", "@", nil, 400, ""},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			script, heard := limiter.NewScripted(limiter.Allowing(2, 2)), &watch{}
			m := inbound(t, script)
			m.Observer = heard
			m.Fallback = &middleware.LocalFallback{Limiter: script, DualLayerLimiter: script}
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = row.peer
			for i := 0; i < len(row.headers); i += 2 {
				r.Header.Add(row.headers[i], row.headers[i+1])
			}
			res := do(m.Handler(http.HandlerFunc(ok)), r)
			var asked []string
			for _, call := range script.Calls() {
				asked = append(asked, strings.TrimSpace(call.TenantKey+" "+call.UserKey))
			}
			if got := strings.Join(asked, ", "); res.StatusCode != row.status || got != row.want {
				t.Errorf("got %d, asked %q; want %d, %q", res.StatusCode, got, row.status, row.want)
			}
			if want := map[int]string{200: "", 400: "failed invalid"}[row.status]; heard.all() != want {
				t.Errorf("heard %q, want %q", heard.all(), want)
			}
		})
	}
}

func TestRateLimit_theContextRulesOutHeaders(t *testing.T) {
	script := limiter.NewScripted(limiter.Allowing(2, 2), limiter.Allowing(2))
	h := inbound(t, script).Handler(http.HandlerFunc(ok))
	for _, p := range []identity.Principal{ann, nobody} {
		r := from(p)
		r.RemoteAddr = "10.0.0.1:1"
		r.Header.Set("X-Forwarded-For", "203.0.113.7")
		r.Header.Set("X-Tenant-Id", "other")
		do(h, r)
	}
	if calls := script.Calls(); calls[0].UserKey != "rl:{acme}:user:ann" || calls[1].TenantKey != annsAddress {
		t.Errorf("asked %+v", calls)
	}
	r := from(identity.Principal{User: "ann"})
	if res := do(h, r); res.StatusCode != 400 || len(script.Calls()) != 2 {
		t.Errorf("a user without a tenant: got %d, want 400 and no call", res.StatusCode)
	}
}

func TestRateLimit_strangersHeadersGoNoFurther(t *testing.T) {
	var seen http.Header
	m := inbound(t, limiter.NewScripted(limiter.Allowing(2), limiter.Allowing(2, 2), limiter.Allowing(2)))
	h := m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.Header }))
	for _, row := range []struct {
		peer, method string
		want         int
	}{{"198.51.100.9:1", "GET", 1}, {"10.0.0.1:1", "GET", 5}, {"198.51.100.9:1", "OPTIONS", 3}} {
		r := httptest.NewRequest(row.method, "/", nil)
		r.RemoteAddr = row.peer
		for _, name := range []string{"X-Tenant-Id", "X-User-Id", "X-Key-Id", "X_tenant-Id", "Accept"} {
			r.Header[name] = []string{"a"}
		}
		if row.method == "OPTIONS" {
			r.Header.Set("Origin", "https://a.example")
			r.Header.Set("Access-Control-Request-Method", "PUT")
		}
		do(h, r)
		if len(seen) != row.want {
			t.Errorf("from %s the handler sees %v, want %d headers", row.peer, seen, row.want)
		}
	}
}

func TestRateLimit_preflight(t *testing.T) {
	for _, row := range []struct {
		sentence  string
		preflight middleware.Preflight
		method    string
		headers   []string
		counted   bool
	}{
		{"a preflight is exempt", middleware.ExemptPreflight, "OPTIONS", []string{"Origin", "Access-Control-Request-Method"}, false},
		{"or counted", middleware.CountPreflight, "OPTIONS", []string{"Origin", "Access-Control-Request-Method"}, true},
		{"OPTIONS without an origin is none", middleware.ExemptPreflight, "OPTIONS", []string{"Access-Control-Request-Method"}, true},
		{"nor is OPTIONS without a method", middleware.ExemptPreflight, "OPTIONS", []string{"Origin"}, true},
		{"nor is OPTIONS with an empty origin", middleware.ExemptPreflight, "OPTIONS", []string{"Origin empty", "Access-Control-Request-Method"}, true},
		{"nor is OPTIONS with an empty method", middleware.ExemptPreflight, "OPTIONS", []string{"Origin", "Access-Control-Request-Method empty"}, true},
		{"nor GET with both", middleware.ExemptPreflight, "GET", []string{"Origin", "Access-Control-Request-Method"}, true},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			script := limiter.NewScripted(limiter.Denying(time.Second, 0))
			m := inbound(t, script)
			m.Preflight = row.preflight
			r := from(nobody)
			r.Method = row.method
			for _, name := range row.headers {
				bare, empty := strings.CutSuffix(name, " empty")
				r.Header.Set(bare, map[bool]string{false: "PUT", true: ""}[empty])
			}
			res := do(m.Handler(http.HandlerFunc(ok)), r)
			if counted := len(script.Calls()) == 1; counted != row.counted || (res.StatusCode == 200) == row.counted {
				t.Errorf("got %d, counted %v; want counted %v", res.StatusCode, counted, row.counted)
			}
			if got := rateLines(res.Header); !row.counted && got != "" {
				t.Errorf("an exempt answer has %s", got)
			}
		})
	}
}

func TestCheck_listsEverythingThatIsWrong(t *testing.T) {
	script := limiter.NewScripted()
	err := middleware.RateLimitMiddleware{
		Limiter: (*limiter.LocalLimiter)(nil), DualLayerLimiter: script, Window: -1, Preflight: 7,
		Fallback: &middleware.LocalFallback{DualLayerLimiter: (*limiter.LocalDualLimiter)(nil), Replicas: -1},
	}.Check()
	for _, want := range []string{"no limiter", "no resolver", "no builder", "no limits", "window", "preflight 7",
		"no limiter to fall back to", "no dual-layer limiter to fall back to", "replicas"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if err := inbound(t, script).Check(); err != nil {
		t.Error(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("Handler mounted what Check refuses")
		}
	}()
	middleware.RateLimitMiddleware{}.Handler(http.NotFoundHandler())
}
