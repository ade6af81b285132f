package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
)

// Connection is what is read of the coordination client at each scrape.
type Connection interface {
	Stats() coordination.Stats
	Health() coordination.Health
	Breaker() string
}

// Observe shows the state of a connection.
func Observe(r prometheus.Registerer, c Connection) { r.MustRegister(connectionCollector{c}) }

type connectionCollector struct{ connection Connection }

var (
	connectionsDesc = prometheus.NewDesc(namespace+"_redis_connections",
		"Connections to the coordination Redis by state.", []string{"state"}, nil)
	waitingDesc = prometheus.NewDesc(namespace+"_redis_waiting",
		"Evaluations waiting for a place in flight.", nil, nil)
	readyDesc = prometheus.NewDesc(namespace+"_redis_ready",
		"1 if the coordination Redis serves, else 0.", nil, nil)
	breakerDesc = prometheus.NewDesc(namespace+"_breaker_state",
		"1 for the state that the breaker is in, else 0.", []string{"state"}, nil)
)

var breakerStates = []string{"closed", "half-open", "open"}

// Describe implements prometheus.Collector.
func (connectionCollector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{connectionsDesc, waitingDesc, readyDesc, breakerDesc} {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (c connectionCollector) Collect(to chan<- prometheus.Metric) {
	stats := c.connection.Stats()
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	gauge(connectionsDesc, float64(stats.Idle), "idle")
	gauge(connectionsDesc, float64(stats.Open-stats.Idle), "in-flight")
	gauge(connectionsDesc, float64(stats.Dialing), "dialing")
	gauge(waitingDesc, float64(stats.Waiting))
	gauge(readyDesc, one(c.connection.Health().Ready))
	now := c.connection.Breaker() // once: it changes by time
	for _, state := range breakerStates {
		gauge(breakerDesc, one(now == state), state)
	}
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
