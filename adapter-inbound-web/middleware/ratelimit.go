package middleware

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limiter"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limitkey"
)

// RateLimitMiddleware limits tenants, their users and keys, and the addresses of
// clients that nobody knows. It lets through what its limiter allows and answers
// the rest: 400 for ids that cannot be limited by, 429, or 503.
//
// A request with a user or key is one call of two layers; one with a tenant alone,
// or with nobody but an address, is one call of one layer. It is mounted by its
// method Handler, as in chi's router.Use(m.Handler), behind whatever authenticates
// and calls [identity.WithPrincipal]. The headers of its answers and of allowed
// responses obey the rules of [Edge].
type RateLimitMiddleware struct {
	// Limiter decides calls of one layer. AllowContext is used if it has it, so
	// that a Retry-After is exact; else Retry-After and reset are the window.
	Limiter limiter.RateLimiter

	// DualLayerLimiter decides calls of two layers, likewise. Nil, or a nil
	// pointer in it, means that there is one layer, the tenant's.
	DualLayerLimiter limiter.DualLayerLimiter

	// Resolver finds the address and the principal of a request.
	Resolver identity.Resolver

	// Keys builds the keys.
	Keys limitkey.Builder

	// Limits says how many calls a window a principal has. It is called for
	// each request.
	Limits func(context.Context, identity.Principal) Limits

	// Window is the window of limiters that do not tell; a minute if 0.
	Window time.Duration

	// Fallback decides in an outage of the limiters. Nil fails closed: 503.
	Fallback *LocalFallback

	// Preflight is what becomes of CORS preflights; the zero value exempts them.
	Preflight Preflight

	// Observer hears what happens; nil is nobody.
	Observer Observer
}

// Limits are the calls a window of one principal. 0 denies all.
type Limits struct {
	Tenant    int
	User      int
	Key       int
	Anonymous int // of one address
}

// LocalFallback is the outage policy of a second decision, by limiters that need
// nothing but this process. It is asked after slidinglog's ErrUnavailable,
// ErrUnknown and ErrClockUnsafe alone; what it decides is marked by the header
// X-RateLimit-Source: local. Each replica counts for itself then.
type LocalFallback struct {
	Limiter          limiter.RateLimiter
	DualLayerLimiter limiter.DualLayerLimiter // needed if the middleware has one

	// Replicas divides the limits by the number of replicas, and leaves at least
	// 1 of a limit above 0; 0 is 1.
	Replicas int
}

// Preflight is what becomes of an OPTIONS request with an Origin and an
// Access-Control-Request-Method, which browsers send of their own accord. OPTIONS
// without either is a request like any other.
type Preflight int

// The choices.
const (
	ExemptPreflight Preflight = iota // passes uncounted and without header fields
	CountPreflight
)

// Check returns one error that lists everything that is missing or wrong.
func (m RateLimitMiddleware) Check() error {
	var errs []error
	wrong := func(is bool, what string) {
		if is {
			errs = append(errs, errors.New("rate limit: "+what))
		}
	}
	wrong(absent(m.Limiter), "no limiter")
	wrong(m.Resolver.IsZero(), "no resolver")
	wrong(m.Keys.IsZero(), "no builder of keys")
	wrong(m.Limits == nil, "no limits")
	wrong(m.Window < 0, "the window must not be below 0")
	wrong(m.Preflight != ExemptPreflight && m.Preflight != CountPreflight, fmt.Sprintf("preflight %d is not known", m.Preflight))
	if f := m.Fallback; f != nil {
		wrong(absent(f.Limiter), "no limiter to fall back to")
		wrong(absent(f.DualLayerLimiter) && !absent(m.DualLayerLimiter), "no dual-layer limiter to fall back to")
		wrong(f.Replicas < 0, "the replicas must not be below 0")
	}
	return errors.Join(errs...)
}

// Handler puts the middleware in front of next. It panics with what Check returns;
// a later change of m has no effect.
func (m RateLimitMiddleware) Handler(next http.Handler) http.Handler {
	if err := m.Check(); err != nil {
		panic(err)
	}
	j := newInboundJudge(m)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m.Preflight == ExemptPreflight && isPreflight(r) {
			next.ServeHTTP(w, m.Resolver.Scrub(r))
			return
		}
		a := j.judge(r)
		if t := toldOf(r); t != nil && t.charged.Load() && a.Status == http.StatusTooManyRequests {
			j.observer.ChargedThenDenied()
		}
		conclude(verdict{answer: a}, m.Resolver, next, w, r)
	})
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// absent tells whether an interface is nil or holds a nil pointer or the like.
func absent(v any) bool {
	if v == nil {
		return true
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Func, reflect.Chan, reflect.Slice, reflect.Interface:
		return r.IsNil()
	default:
		return false
	}
}
