package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/limitsource"
	"github.com/edgelimit/edgelimit/shared-contract/cache"
)

// Source counts what becomes of questions to the limits source, and of the cache
// before it.
type Source struct {
	questions *prometheus.CounterVec
	failures  *prometheus.CounterVec
}

// NewSource makes a Source that r shows.
func NewSource(r prometheus.Registerer) *Source {
	s := &Source{
		questions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "limits_source_questions_total",
			Help: "Questions to the limits source by result: fetched, failed, or waived to another one under way.",
		}, []string{"result"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "cache_failures_total",
			Help: "Calls that the cache did not serve, by cause. A look was a miss to whoever asked, a write was not stored.",
		}, []string{"cause"}),
	}
	for _, e := range []limitsource.Event{limitsource.Fetched, limitsource.Failed, limitsource.Waived} {
		s.questions.WithLabelValues(string(e))
	}
	r.MustRegister(s.questions, s.failures)
	return s
}

// Question counts what became of one.
func (s *Source) Question(e limitsource.Event) { s.questions.WithLabelValues(string(e)).Inc() }

// CacheFailed counts a call that the cache did not serve.
func (s *Source) CacheFailed(cause cache.Cause) { s.failures.WithLabelValues(string(cause)).Inc() }

// ObserveCache shows the state of the cache's breaker.
func ObserveCache(r prometheus.Registerer, c Breaker) { r.MustRegister(cacheCollector{c}) }

// Breaker is what is read of the cache at each scrape.
type Breaker interface{ Breaker() string }

type cacheCollector struct{ cache Breaker }

var cacheBreakerDesc = prometheus.NewDesc(namespace+"_cache_breaker_state",
	"1 for the state that the cache's breaker is in, else 0.", []string{"state"}, nil)

// Describe implements prometheus.Collector.
func (cacheCollector) Describe(to chan<- *prometheus.Desc) { to <- cacheBreakerDesc }

// Collect implements prometheus.Collector.
func (c cacheCollector) Collect(to chan<- prometheus.Metric) {
	now := c.cache.Breaker() // once: it changes by time
	for _, state := range breakerStates {
		to <- prometheus.MustNewConstMetric(cacheBreakerDesc, prometheus.GaugeValue, one(now == state), state)
	}
}
