package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limiter"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/middleware"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// doubtful is a limiter of all four forms that allows and fails in one answer.
type doubtful struct{ err error }

func (d doubtful) Allow(string, int) (bool, int, error) { return true, 5, d.err }

func (d doubtful) AllowDual(string, int, string, int) (bool, int, int, error) {
	return true, 5, 5, d.err
}

func (d doubtful) AllowContext(context.Context, string, int) (slidinglog.Verdict, error) {
	return slidinglog.Verdict{Allowed: true}, d.err
}

func (d doubtful) AllowDualContext(context.Context, string, int, string, int) (slidinglog.Verdict, error) {
	return slidinglog.Verdict{Allowed: true}, d.err
}

func TestRateLimit_anAllowBesideAnErrorIsNone(t *testing.T) {
	for _, err := range []error{slidinglog.ErrUnknown, slidinglog.ErrIncompatible, errors.New("other")} {
		d := doubtful{err}
		for _, m := range []middleware.RateLimitMiddleware{
			{Limiter: d, DualLayerLimiter: d},
			{Limiter: plainSingle{d}, DualLayerLimiter: plainDual{d}},
			{Limiter: d, DualLayerLimiter: d, Fallback: &middleware.LocalFallback{Limiter: d, DualLayerLimiter: d}},
		} {
			whole := inbound(t, nil)
			whole.Limiter, whole.DualLayerLimiter, whole.Fallback = m.Limiter, m.DualLayerLimiter, m.Fallback
			h := whole.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler was reached") }))
			for _, p := range []identity.Principal{ann, acme, nobody} {
				if res := do(h, from(p)); res.StatusCode != 503 {
					t.Errorf("%v for %+v: got %d, want 503", err, p, res.StatusCode)
				}
			}
		}
	}
}

// TestRateLimit_badInputNeverReachesTheFallback: the shared limiter is away, so
// whatever is let past the checks is asked of the fallback.
func TestRateLimit_badInputNeverReachesTheFallback(t *testing.T) {
	hostile := identity.Principal{Tenant: "{}:%\x00\n\xff", User: "}:user:x"}
	for _, row := range []struct {
		sentence string
		who      identity.Principal
		limits   middleware.Limits
		status   int
		asked    string
	}{
		{"hostile ids are escaped", hostile, fixedLimits, 200, "rl:{%7B%7D%3A%25%00%0A%FF} rl:{%7B%7D%3A%25%00%0A%FF}:user:%7D%3Auser%3Ax"},
		{"a user without a tenant", identity.Principal{User: "ann"}, fixedLimits, 400, ""},
		{"a key without a tenant", identity.Principal{Key: "k1"}, fixedLimits, 400, ""},
		{"a tenant of 10 kB", identity.Principal{Tenant: strings.Repeat("t", 10_000)}, fixedLimits, 400, ""},
		{"a user of 257 bytes", identity.Principal{Tenant: "acme", User: strings.Repeat("u", 257)}, fixedLimits, 400, ""},
		{"a key of 257 bytes once it is escaped", identity.Principal{Tenant: "acme", Key: strings.Repeat("%", 85) + "kk"}, fixedLimits, 400, ""},
		{"a key that does not count is not looked at", identity.Principal{Tenant: "acme", User: "ann", Key: strings.Repeat("k", 257)}, fixedLimits, 200, "rl:{acme} rl:{acme}:user:ann"},
		{"a negative tenant limit", ann, middleware.Limits{Tenant: -1, User: 5}, 400, ""},
		{"a negative user limit", ann, middleware.Limits{Tenant: 5, User: -1}, 400, ""},
		{"a negative limit of an address", nobody, middleware.Limits{Anonymous: -1}, 400, ""},
		{"a limit beyond what can be configured", acme, middleware.Limits{Tenant: 100_001}, 200, "rl:{acme}"},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			local, heard := limiter.NewScripted(limiter.Allowing(2, 2)), &watch{}
			m := inbound(t, limiter.NewScripted(limiter.Failing(slidinglog.ErrUnavailable)))
			m.Limits = func(context.Context, identity.Principal) middleware.Limits { return row.limits }
			m.Fallback, m.Observer = &middleware.LocalFallback{Limiter: local, DualLayerLimiter: local}, heard
			res := do(m.Handler(http.HandlerFunc(ok)), from(row.who))
			var asked string
			for _, call := range local.Calls() {
				asked += strings.TrimSpace(call.TenantKey + " " + call.UserKey)
			}
			if res.StatusCode != row.status || asked != row.asked {
				t.Errorf("got %d, the fallback was asked %q; want %d, %q", res.StatusCode, asked, row.status, row.asked)
			}
			if row.status == 400 {
				demandProblem(t, res, "about:blank", "", "[]")
				if heard.all() != "failed invalid" {
					t.Errorf("heard %q", heard.all())
				}
			}
		})
	}
}

func TestRateLimit_theFallbackOfOneLayer(t *testing.T) {
	for _, row := range []struct {
		sentence string
		who      identity.Principal
		limits   middleware.Limits
		answer   limiter.Answer
		want     string
		asked    int
	}{
		{"a tenant alone", acme, fixedLimits, limiter.Allowing(2), lines(3, 2, 60), 3},
		{"an address", nobody, fixedLimits, limiter.Denying(90*time.Second, 0), "retry-after=90 " + lines(1, 0, 60), 1},
		{"limit 0 stays 0, and says no when", nobody, middleware.Limits{}, limiter.Denying(time.Minute, 0), lines(0, 0, 60), 0},
		{"more than the part is left by nobody", acme, fixedLimits, limiter.Allowing(9), lines(3, 3, 60), 3},
	} {
		for name, plain := range map[string]bool{"by context": false, "by the plain call": true} {
			t.Run(row.sentence+", "+name, func(t *testing.T) {
				local := limiter.NewScripted(row.answer)
				m := inbound(t, limiter.NewScripted(limiter.Failing(slidinglog.ErrUnknown)))
				m.Limits = func(context.Context, identity.Principal) middleware.Limits { return row.limits }
				m.Fallback = &middleware.LocalFallback{Limiter: local, DualLayerLimiter: local, Replicas: 3}
				want := row.want
				if plain {
					m.Fallback.Limiter, m.Fallback.DualLayerLimiter = plainSingle{local}, plainDual{local}
					want = strings.Replace(want, "retry-after=90", "retry-after=60", 1)
				}
				res := do(m.Handler(http.HandlerFunc(ok)), from(row.who))
				if got := rateLines(res.Header); got != want+" x-ratelimit-source=local" {
					t.Errorf("got %d, %s; want %s, local", res.StatusCode, got, want)
				}
				if calls := local.Calls(); len(calls) != 1 || calls[0].TenantLimit != row.asked || calls[0].UserKey != "" {
					t.Errorf("asked %+v, want one layer under %d", calls, row.asked)
				}
			})
		}
	}
}

// TestRateLimit_withoutADualLayerLimiterTheFallbackHasOneLayerToo: the fallback
// decides what the limiter in whose place it stands would have.
func TestRateLimit_withoutADualLayerLimiterTheFallbackHasOneLayerToo(t *testing.T) {
	local := limiter.NewScripted(limiter.Allowing(2))
	m := inbound(t, limiter.NewScripted(limiter.Failing(slidinglog.ErrUnavailable)))
	m.DualLayerLimiter = nil
	m.Fallback = &middleware.LocalFallback{Limiter: local, DualLayerLimiter: local}
	do(m.Handler(http.HandlerFunc(ok)), from(ann))
	want := limiter.Call{TenantKey: "rl:{acme}", TenantLimit: 10}
	if calls := local.Calls(); len(calls) != 1 || calls[0] != want {
		t.Errorf("asked %+v, want %+v", calls, want)
	}
}

func TestRateLimit_aPanicIsNobodysAllowance(t *testing.T) {
	panics := func(h http.Handler) (recovered any) {
		defer func() { recovered = recover() }()
		do(h, from(ann))
		return nil
	}
	single, err := limiter.NewLocalLimiter(limiter.LocalConfig{})
	if err != nil {
		t.Fatal(err)
	}
	m := inbound(t, nil)
	m.Limiter, m.DualLayerLimiter = single, single.Dual()
	failing := m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	for range 2 { // each is counted once, and holds no lock
		if got := panics(failing); got != http.ErrAbortHandler {
			t.Errorf("a handler that panics: recovered %v", got)
		}
	}
	if v, err := single.Dual().AllowDualContext(t.Context(), "rl:{acme}", 10, "rl:{acme}:user:ann", 5); v.Inner.Remaining != 2 || err != nil {
		t.Errorf("then: got %+v, %v; want 2 of the user's 5 left", v, err)
	}

	m.Limits = func(context.Context, identity.Principal) middleware.Limits { panic("no limits") }
	h := m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler was reached") }))
	if got := panics(h); fmt.Sprint(got) != "no limits" {
		t.Errorf("limits that panic: recovered %v", got)
	}
}
