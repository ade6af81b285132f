package middleware_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/internal/edgetest"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limiter"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// sharing lets pages of one origin read the answers of next, as a handler for CORS
// around a limiter does.
func sharing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "https://a.example")
		w.Header().Set("Access-Control-Expose-Headers", "Retry-After, X-RateLimit-Limit")
		w.Header().Add("Vary", "Origin")
		next.ServeHTTP(w, r)
	})
}

// A page can read no answer that lacks the headers of CORS, a refusal least of all.
func TestRefusals_keepTheHeadersOfCORS(t *testing.T) {
	refusing := func(a limiter.Answer) http.Handler {
		return inbound(t, limiter.NewScripted(a)).Handler(http.HandlerFunc(ok))
	}
	for sentence, row := range map[string]struct {
		handler http.Handler
		status  int
	}{
		"denied at the edge":      {guarded(t, edgetest.Always(edgetest.Denied(10, 0, time.Second)), ok), 429},
		"failed at the edge":      {guarded(t, edgetest.Always(ratelimit.Outcome{}), ok), 503},
		"denied by inbound-web":   {refusing(limiter.Denying(time.Second, 0)), 429},
		"failed in inbound-web":   {refusing(limiter.Failing(slidinglog.ErrUnavailable)), 503},
		"refused by inbound-web":  {refusing(limiter.Failing(slidinglog.ErrInvalid)), 400},
		"allowed, for comparison": {guarded(t, edgetest.Always(edgetest.Allowed(10, 9)), ok), 200},
	} {
		res := do(sharing(row.handler), from(nobody))
		h := res.Header
		if res.StatusCode != row.status || h.Get("Access-Control-Allow-Origin") != "https://a.example" ||
			h.Get("Access-Control-Expose-Headers") != "Retry-After, X-RateLimit-Limit" || h.Get("Vary") != "Origin" {
			t.Errorf("%s: got %d with %v, want %d with what was set outside", sentence, res.StatusCode, h, row.status)
		}
	}
}
