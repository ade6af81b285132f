package admin_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/app-bootstrap/internal/admin"
)

// connection has the health and the breaker that a test gives it.
type connection struct {
	health  coordination.Health
	breaker string
}

func (c *connection) Health() coordination.Health { return c.health }
func (c *connection) Breaker() string             { return c.breaker }

func ask(t *testing.T, h http.Handler, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, "http://localhost"+path, nil))
	return w
}

func TestReadiness_saysWhatIsLacking(t *testing.T) {
	type view struct {
		Ready, Draining bool
		RateLimit       string
		Coordination    *struct {
			Ready                      bool
			Endpoint, Version, Breaker string
			Problems, Warnings         []string
		}
	}
	ready := coordination.Health{Ready: true, Version: "7.4", Warnings: []string{"maxmemory-policy is allkeys-lru"}}
	away := coordination.Health{Problems: []string{"no connection yet"}}
	for _, row := range []struct {
		sentence string
		health   *coordination.Health // nil: rate limiting is off
		draining bool
		status   int
	}{
		{"off is ready", nil, false, 200},
		{"off and draining is not", nil, true, 503},
		{"a Redis that serves is ready, whatever it warns of", &ready, false, 200},
		{"draining is not ready, whatever Redis does", &ready, true, 503},
		{"a Redis that is away is not ready", &away, false, 503},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			r := &admin.Readiness{}
			if row.health != nil {
				r.Endpoint, r.Connection = "redis://127.0.0.1:6379/0", &connection{*row.health, "half-open"}
			}
			if row.draining {
				r.Drain()
			}
			w := ask(t, r, http.MethodGet, "/readyz")
			var got view
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if w.Code != row.status || got.Ready != (row.status == 200) || got.Draining != row.draining {
				t.Errorf("got %d %s, want %d", w.Code, w.Body, row.status)
			}
			if w.Header().Get("Cache-Control") != "no-store" {
				t.Error("the answer may be cached")
			}
			if row.health == nil {
				if got.RateLimit != "disabled" || got.Coordination != nil {
					t.Errorf("got %s, want a limiter that is off", w.Body)
				}
				return
			}
			c := got.Coordination
			if got.RateLimit != "enabled" || c == nil || c.Endpoint != "redis://127.0.0.1:6379/0" || c.Breaker != "half-open" ||
				c.Version != row.health.Version || !slices.Equal(c.Problems, row.health.Problems) && len(row.health.Problems) > 0 ||
				!slices.Equal(c.Warnings, row.health.Warnings) && len(row.health.Warnings) > 0 {
				t.Errorf("got %s, want what the connection says", w.Body)
			}
			if strings.Contains(w.Body.String(), "null") {
				t.Errorf("got %s, want empty lists and no null", w.Body)
			}
		})
	}
}

func TestNew_serves(t *testing.T) {
	h, err := admin.New(admin.Config{Registry: prometheus.NewRegistry(), Readiness: &admin.Readiness{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/healthz", 200}, {"HEAD", "/healthz", 200}, {"GET", "/readyz", 200}, {"HEAD", "/readyz", 200}, {"GET", "/metrics", 200},
		{"POST", "/v1/rate-limit/evaluate", 404}, {"GET", "/v1/rate-limit/authorize", 404}, {"GET", "/", 404}, {"POST", "/metrics", 405},
	} {
		if got := ask(t, h, row.method, row.path).Code; got != row.status {
			t.Errorf("%s %s: got %d, want %d", row.method, row.path, got, row.status)
		}
	}
}

func TestNew_refusesAShortToken(t *testing.T) {
	_, err := admin.New(admin.Config{Token: []byte("short"), Registry: prometheus.NewRegistry(), Readiness: &admin.Readiness{}})
	if err == nil || strings.Contains(err.Error(), "short\"") {
		t.Errorf("got %v, want an error without the token", err)
	}
}
