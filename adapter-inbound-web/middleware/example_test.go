package middleware_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/go-chi/chi/v5"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limiter"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limitkey"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/middleware"
)

// authenticate is what a service has already: here a token is a user's name.
func authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user := r.Header.Get("Authorization"); user != "" {
			p := identity.Principal{Tenant: "acme", User: user}
			r = r.WithContext(identity.WithPrincipal(r.Context(), p))
		}
		next.ServeHTTP(w, r)
	})
}

// A service that knows its callers mounts the middleware behind its authentication.
// Each user has a share of the tenant's limit; whoever is not known is limited by
// address.
func ExampleRateLimitMiddleware() {
	local, err := limiter.NewLocalLimiter(limiter.LocalConfig{})
	if err != nil {
		panic(err)
	}
	resolver, err := identity.NewResolver(identity.Config{IPv6PrefixBits: identity.DefaultIPv6PrefixBits})
	if err != nil {
		panic(err)
	}
	limit := middleware.RateLimitMiddleware{
		Limiter: local, DualLayerLimiter: local.Dual(),
		Resolver: resolver, Keys: limitkey.NewRandom(),
		Limits: func(context.Context, identity.Principal) middleware.Limits {
			return middleware.Limits{Tenant: 3, User: 2, Anonymous: 1}
		},
	}
	if err := limit.Check(); err != nil {
		panic(err)
	}

	router := chi.NewRouter()
	router.Use(authenticate, limit.Handler)
	router.Get("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })

	for _, user := range []string{"ann", "ann", "ann", "bob", "bob", ""} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", user)
		router.ServeHTTP(w, r)
		fmt.Printf("%q: %d, limit %s, remaining %s\n", user, w.Code,
			w.Header().Get("X-RateLimit-Limit"), w.Header().Get("X-RateLimit-Remaining"))
	}
	// Output:
	// "ann": 200, limit 2, remaining 1
	// "ann": 200, limit 2, remaining 0
	// "ann": 429, limit 2, remaining 0
	// "bob": 200, limit 3, remaining 0
	// "bob": 429, limit 3, remaining 0
	// "": 200, limit 1, remaining 0
}
