package metrics_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/metrics"
)

// breaker is a cache whose breaker is in this state.
type breaker string

func (b *breaker) Breaker() string { return string(*b) }

func TestObserveCache_showsTheBreakerAtEachScrape(t *testing.T) {
	now := breaker("closed")
	registry := prometheus.NewPedanticRegistry()
	metrics.ObserveCache(registry, &now)
	for _, row := range []struct{ state, closed, halfOpen, open string }{
		{"closed", "1", "0", "0"}, {"open", "0", "0", "1"}, {"half-open", "0", "1", "0"},
	} {
		now = breaker(row.state)
		if err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP edgelimit_cache_breaker_state 1 for the state that the cache's breaker is in, else 0.
# TYPE edgelimit_cache_breaker_state gauge
edgelimit_cache_breaker_state{state="closed"} `+row.closed+`
edgelimit_cache_breaker_state{state="half-open"} `+row.halfOpen+`
edgelimit_cache_breaker_state{state="open"} `+row.open+`
`)); err != nil {
			t.Errorf("%s: %v", row.state, err)
		}
	}
}
