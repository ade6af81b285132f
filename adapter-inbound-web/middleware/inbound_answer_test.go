package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/answer"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limiter"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/middleware"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// lines are the lines of three X-RateLimit fields, and of what follows.
func lines(limit, remaining, reset int) string {
	return fmt.Sprintf("x-ratelimit-limit=%d x-ratelimit-remaining=%d x-ratelimit-reset=%d", limit, remaining, reset)
}

func layers(allowed bool, retry time.Duration, outer, inner slidinglog.Layer) limiter.Answer {
	return limiter.Answer{Verdict: slidinglog.Verdict{Allowed: allowed, RetryAfter: retry, Outer: outer, Inner: inner}}
}

func left(remaining int, reset time.Duration) slidinglog.Layer {
	return slidinglog.Layer{Remaining: remaining, ResetAfter: reset}
}

func TestRateLimit_headersOfTheTighterLayer(t *testing.T) {
	const s = time.Second
	for _, row := range []struct {
		sentence  string
		principal identity.Principal
		answer    limiter.Answer
		status    int
		want      string
		heard     string
		violated  string
	}{
		{"the user has less left", ann, layers(true, 0, left(4, 9*s), left(3, 7*s)), 200, lines(5, 3, 7), "", ""},
		{"the tenant has less left", ann, layers(true, 0, left(2, 7*s), left(3, 9*s)), 200, lines(10, 2, 7), "", ""},
		{"on a tie the tenant resets later", ann, layers(true, 0, left(3, 9*s), left(3, 7*s)), 200, lines(10, 3, 9), "", ""},
		{"on a tie the user resets later", ann, layers(true, 0, left(3, 7*s), left(3, 9*s)), 200, lines(5, 3, 9), "", ""},
		{"on a full tie it is the user's", ann, layers(true, 0, left(3, 9*s), left(3, 9*s)), 200, lines(5, 3, 9), "", ""},
		{"a key is a layer like a user", byKey, layers(true, 0, left(3, 9*s), left(3, 9*s)), 200, lines(4, 3, 9), "", ""},
		{"seconds are rounded up", acme, layers(true, 0, left(3, 8*s+time.Millisecond), left(0, 0)), 200, lines(10, 3, 9), "", ""},
		{"an address has one layer", nobody, layers(true, 0, left(2, 9*s), left(0, 0)), 200, lines(3, 2, 9), "", ""},
		{"the tenant is full", ann, layers(false, 1500*time.Millisecond, left(0, 9*s), left(3, 7*s)), 429,
			"retry-after=2 " + lines(10, 0, 9), "rejected acme tenant", "[inbound-web:tenant]"},
		{"the user is full", ann, layers(false, s, left(4, 9*s), left(0, 7*s)), 429,
			"retry-after=1 " + lines(5, 0, 7), "rejected acme user", "[inbound-web:user]"},
		{"the key is full", byKey, layers(false, s, left(4, 9*s), left(0, 7*s)), 429,
			"retry-after=1 " + lines(4, 0, 7), "rejected acme user", "[inbound-web:key]"},
		{"both are full", ann, layers(false, time.Millisecond, left(0, 9*s), left(0, 7*s)), 429,
			"retry-after=1 " + lines(10, 0, 9), "rejected acme both", "[inbound-web:tenant inbound-web:user]"},
		{"a tenant alone is full", acme, layers(false, 60*s, left(0, 60*s), left(0, 0)), 429,
			"retry-after=60 " + lines(10, 0, 60), "rejected acme tenant", "[inbound-web:tenant]"},
		{"an address is full", nobody, layers(false, s, left(0, 9*s), left(0, 0)), 429,
			"retry-after=1 " + lines(3, 0, 9), "rejected  ip", "[inbound-web:ip]"},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			m, heard := inbound(t, limiter.NewScripted(row.answer)), &watch{}
			m.Observer = heard
			res := do(m.Handler(http.HandlerFunc(upstreamClaims)), from(row.principal))
			if got := rateLines(res.Header); res.StatusCode != row.status || got != row.want {
				t.Errorf("got %d, %s; want %d, %s", res.StatusCode, got, row.status, row.want)
			}
			if heard.all() != row.heard {
				t.Errorf("heard %q, want %q", heard.all(), row.heard)
			}
			if row.status == 429 {
				demandProblem(t, res, answer.TypeQuotaExceeded, "evaluated", row.violated)
			}
		})
	}
}

func demandProblem(t *testing.T, res *http.Response, kind, outcome, violated string) {
	t.Helper()
	var p answer.Problem
	if err := json.NewDecoder(res.Body).Decode(&p); err != nil {
		t.Fatal(err)
	}
	if p.Type != kind || p.Status != res.StatusCode || p.Outcome != outcome || fmt.Sprint(p.ViolatedPolicies) != violated {
		t.Errorf("got %+v, want %s, %s, %s", p, kind, outcome, violated)
	}
	if res.Header.Get("Content-Type") != answer.ContentType || res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("got %v", res.Header)
	}
}

func TestRateLimit_limitZeroSaysNoWhen(t *testing.T) {
	for _, row := range []struct {
		sentence string
		limits   middleware.Limits
		answer   limiter.Answer
		want     string
	}{
		{"the tenant's", middleware.Limits{User: 5}, limiter.Denying(time.Minute, 0, 5), lines(0, 0, 60)},
		{"the user's", middleware.Limits{Tenant: 5}, limiter.Denying(time.Minute, 5, 0), lines(0, 0, 60)},
		{"the user's, while the tenant is full", middleware.Limits{Tenant: 5}, limiter.Denying(time.Minute, 0, 0), lines(0, 0, 60)},
	} {
		m := inbound(t, limiter.NewScripted(row.answer))
		m.Limits = func(context.Context, identity.Principal) middleware.Limits { return row.limits }
		res := do(m.Handler(http.HandlerFunc(ok)), from(ann))
		if got := rateLines(res.Header); res.StatusCode != 429 || got != row.want {
			t.Errorf("%s: got %d, %s; want 429, %s", row.sentence, res.StatusCode, got, row.want)
		}
	}
}

func TestRateLimit_plainLimitersAreNeverEarly(t *testing.T) {
	for _, row := range []struct {
		principal identity.Principal
		answer    limiter.Answer
		want      string
	}{
		{ann, limiter.Allowing(4, 3), lines(5, 3, 30)},
		{ann, limiter.Denying(time.Second, 0, 3), "retry-after=30 " + lines(10, 0, 30)},
		{acme, limiter.Allowing(9), lines(10, 9, 30)},
		{nobody, limiter.Denying(time.Second, 0), "retry-after=30 " + lines(3, 0, 30)},
	} {
		script := limiter.NewScripted(row.answer)
		m := inbound(t, script)
		m.Limiter, m.DualLayerLimiter, m.Window = plainSingle{script}, plainDual{script}, 30*time.Second
		res := do(m.Handler(http.HandlerFunc(ok)), from(row.principal))
		if got := rateLines(res.Header); got != row.want || (res.StatusCode == 200) != row.answer.Verdict.Allowed {
			t.Errorf("%+v: got %d, %s; want %s", row.principal, res.StatusCode, got, row.want)
		}
	}
}

// reasoned is an error with a reason of its own.
type reasoned struct{}

func (reasoned) Error() string  { return "a slot is moving" }
func (reasoned) Unwrap() error  { return slidinglog.ErrUnavailable }
func (reasoned) Reason() string { return "resharding" }

func TestRateLimit_outages(t *testing.T) {
	other := errors.New("password rejected by 10.1.2.3")
	for _, row := range []struct {
		sentence string
		err      error
		falls    bool
		status   int    // without a fallback, or when it may not decide
		retry    string // likewise
		outcome  string
		reason   string
	}{
		{"unavailable", fmt.Errorf("dial 10.1.2.3: %w", slidinglog.ErrUnavailable), true, 503, "1", "unavailable", "unavailable"},
		{"a cause of its own", reasoned{}, true, 503, "1", "unavailable", "resharding"},
		{"unknown", slidinglog.ErrUnknown, true, 503, "1", "indeterminate", "unknown"},
		{"the clock is unsafe", slidinglog.ErrClockUnsafe, true, 503, "1", "unavailable", "clock_unsafe"},
		{"incompatible", slidinglog.ErrIncompatible, false, 503, "", "incompatible", "incompatible"},
		{"an error that nobody knows", other, false, 503, "", "incompatible", "other"},
		{"invalid", slidinglog.ErrInvalid, false, 400, "", "", "invalid"},
		{"invalid and unavailable", errors.Join(slidinglog.ErrUnavailable, slidinglog.ErrInvalid), false, 400, "", "", "invalid"},
	} {
		for _, principal := range []identity.Principal{ann, acme, nobody} {
			t.Run(fmt.Sprintf("%s, %+v", row.sentence, principal), func(t *testing.T) {
				m, heard := inbound(t, limiter.NewScripted(limiter.Failing(row.err), limiter.Failing(row.err))), &watch{}
				m.Observer = heard
				res := do(m.Handler(http.HandlerFunc(upstreamClaims)), from(principal))
				demandFailure(t, res, row.status, row.retry, row.outcome)
				if want := "failed " + row.reason; heard.all() != want {
					t.Errorf("fail closed: heard %q, want %q", heard.all(), want)
				}

				heard.heard = nil
				local := limiter.NewScripted(limiter.Allowing(2, 2))
				m.Fallback = &middleware.LocalFallback{Limiter: local, DualLayerLimiter: local}
				res = do(m.Handler(http.HandlerFunc(upstreamClaims)), from(principal))
				if !row.falls {
					demandFailure(t, res, row.status, row.retry, row.outcome)
					if len(local.Calls()) != 0 {
						t.Error("the fallback was asked")
					}
					return
				}
				if res.StatusCode != 200 || res.Header.Get("X-RateLimit-Source") != "local" || res.Header.Get("X-RateLimit-Remaining") != "2" {
					t.Errorf("local fallback: got %d, %s", res.StatusCode, rateLines(res.Header))
				}
				if want := "fell back " + row.reason; heard.all() != want || len(local.Calls()) != 1 {
					t.Errorf("local fallback: heard %q, want %q; asked %d times", heard.all(), want, len(local.Calls()))
				}
			})
		}
	}
}

func demandFailure(t *testing.T, res *http.Response, status int, retry, outcome string) {
	t.Helper()
	if res.StatusCode != status || res.Header.Get("Retry-After") != retry || res.Header.Get("X-RateLimit-Limit") != "" || res.Header.Get("X-RateLimit-Source") != "" {
		t.Errorf("got %d, %s; want %d, Retry-After %q alone", res.StatusCode, rateLines(res.Header), status, retry)
	}
	kind := answer.TypeReducedCapacity
	if status == http.StatusBadRequest {
		kind = "about:blank"
	}
	demandProblem(t, res, kind, outcome, "[]")
}

func TestRateLimit_fallbackLimitsAreOneReplicasPart(t *testing.T) {
	for _, row := range []struct {
		replicas     int
		limits       middleware.Limits
		tenant, user int
	}{
		{0, middleware.Limits{Tenant: 10, User: 5}, 10, 5},
		{1, middleware.Limits{Tenant: 10, User: 5}, 10, 5},
		{3, middleware.Limits{Tenant: 10, User: 5}, 3, 1},
		{20, middleware.Limits{Tenant: 10, User: 5}, 1, 1},
		{20, middleware.Limits{Tenant: 10, User: 0}, 1, 0},
		{2, middleware.Limits{Tenant: 0, User: 5}, 0, 2},
	} {
		local, heard := limiter.NewScripted(limiter.Denying(time.Second, 0, 0)), &watch{}
		m := inbound(t, limiter.NewScripted(limiter.Failing(slidinglog.ErrUnavailable)))
		m.Limits = func(context.Context, identity.Principal) middleware.Limits { return row.limits }
		m.Fallback = &middleware.LocalFallback{Limiter: local, DualLayerLimiter: local, Replicas: row.replicas}
		m.Observer = heard
		res := do(m.Handler(http.HandlerFunc(ok)), from(ann))
		want := called("rl:{acme}", row.tenant, "rl:{acme}:user:ann", row.user)
		if calls := local.Calls(); len(calls) != 1 || calls[0] != want {
			t.Errorf("%d replicas of %+v: asked %+v, want %+v", row.replicas, row.limits, calls, want)
		}
		if got := res.Header.Get("X-RateLimit-Limit"); res.StatusCode != 429 || got != fmt.Sprint(row.user) || res.Header.Get("X-RateLimit-Source") != "local" {
			t.Errorf("%d replicas of %+v: got %d, %s", row.replicas, row.limits, res.StatusCode, rateLines(res.Header))
		}
		if heard.all() != "fell back unavailable, rejected acme both" {
			t.Errorf("heard %q", heard.all())
		}
	}
}

func TestRateLimit_aFallbackThatFailsFailsClosed(t *testing.T) {
	m, heard := inbound(t, limiter.NewScripted(limiter.Failing(slidinglog.ErrUnknown))), &watch{}
	local := limiter.NewScripted(limiter.Failing(slidinglog.ErrClockUnsafe))
	m.Fallback, m.Observer = &middleware.LocalFallback{Limiter: local, DualLayerLimiter: local}, heard
	demandFailure(t, do(m.Handler(http.HandlerFunc(ok)), from(ann)), 503, "1", "unavailable")
	if heard.all() != "fell back unknown, failed clock_unsafe" {
		t.Errorf("heard %q", heard.all())
	}
}

func TestRateLimit_aDenialIsNoOutage(t *testing.T) {
	shared, err := limiter.NewLocalLimiter(limiter.LocalConfig{})
	if err != nil {
		t.Fatal(err)
	}
	local, heard := limiter.NewScripted(), &watch{}
	m := inbound(t, local)
	m.Limiter, m.DualLayerLimiter, m.Observer = shared, shared.Dual(), heard
	m.Limits = func(context.Context, identity.Principal) middleware.Limits {
		return middleware.Limits{Tenant: 1, User: 1}
	}
	m.Fallback = &middleware.LocalFallback{Limiter: local, DualLayerLimiter: local}
	h := m.Handler(http.HandlerFunc(ok))
	for i, want := range []int{200, 429, 429} {
		if res := do(h, from(ann)); res.StatusCode != want {
			t.Errorf("call %d: got %d, want %d", i, res.StatusCode, want)
		}
	}
	if heard.all() != "rejected acme both, rejected acme both" || len(local.Calls()) != 0 {
		t.Errorf("heard %q, the fallback was asked %d times", heard.all(), len(local.Calls()))
	}
}

func TestRateLimit_aClientThatLeftIsNoOutage(t *testing.T) {
	local, heard := limiter.NewScripted(limiter.Allowing(2, 2)), &watch{}
	m := inbound(t, limiter.NewScripted(limiter.Allowing(2, 2)))
	m.Fallback, m.Observer = &middleware.LocalFallback{Limiter: local, DualLayerLimiter: local}, heard
	r := from(ann)
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	h := m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler was reached") }))
	if res := do(h, r.WithContext(ctx)); res.StatusCode != 503 || heard.all() != "" || len(local.Calls()) != 0 {
		t.Errorf("got %d, heard %q, the fallback was asked %d times", res.StatusCode, heard.all(), len(local.Calls()))
	}
}
