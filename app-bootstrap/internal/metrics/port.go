package metrics

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

const namespace = "edgelimit"

// meteredPort counts what passes through a port.
type meteredPort struct {
	port      ratelimit.EdgeRateLimitPort
	known     map[string]bool
	decisions *prometheus.CounterVec
	repeated  *prometheus.CounterVec
	failures  *prometheus.CounterVec
	seconds   *prometheus.HistogramVec
	refusals  prometheus.Counter
	inFlight  prometheus.Gauge
}

// Meter wraps port, which serves these policies, so that r counts its outcomes.
func Meter(r prometheus.Registerer, port ratelimit.EdgeRateLimitPort, policies []ratelimit.Policy) ratelimit.EdgeRateLimitPort {
	m := &meteredPort{
		port:  port,
		known: map[string]bool{},
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "decisions_total",
			Help: "Evaluations by policy, outcome, and verdict (allowed or denied; none without a decision).",
		}, []string{"policy", "outcome", "verdict"}),
		repeated: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "repeated_denials_total",
			Help: "Denials that the denial cache repeated without asking Redis, by policy; decisions_total has them too.",
		}, []string{"policy"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "failures_total",
			Help: "Evaluations without a decision, by outcome and the category of their cause.",
		}, []string{"outcome", "category"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "evaluation_seconds",
			Help:    "Duration of evaluations by outcome.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25},
		}, []string{"outcome"}),
		refusals: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "admission_refusals_total",
			Help: "Evaluations refused because every place in flight stayed taken for the admission wait.",
		}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Name: "evaluations_in_flight",
			Help: "Evaluations that have begun and not ended, those waiting for a place included.",
		}),
	}
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: namespace, Name: "policy_info",
		Help: "Always 1: the policies in force.",
	}, []string{"policy", "revision", "algorithm", "limit"})
	for _, p := range policies {
		m.known[p.ID()] = true
		info.WithLabelValues(p.ID(), strconv.FormatInt(p.Revision(), 10), string(p.Algorithm().Name()),
			strconv.FormatInt(p.Limit(), 10)).Set(1)
	}
	r.MustRegister(m.decisions, m.repeated, m.failures, m.seconds, m.refusals, m.inFlight, info)
	return m
}

// Evaluate implements [ratelimit.EdgeRateLimitPort].
func (m *meteredPort) Evaluate(ctx context.Context, req ratelimit.Request) ratelimit.Outcome {
	m.inFlight.Inc()
	defer m.inFlight.Dec()
	begun := time.Now()
	outcome := m.port.Evaluate(ctx, req)
	m.count(req.PolicyID, outcome, time.Since(begun))
	return outcome
}

func (m *meteredPort) count(policyID string, o ratelimit.Outcome, took time.Duration) {
	if !m.known[policyID] {
		policyID = "unknown"
	}
	kind, verdict := o.Kind().String(), "none"
	switch {
	case o.Allows():
		verdict = "allowed"
	case o.Kind() == ratelimit.KindEvaluated:
		verdict = "denied"
		if source(o) == ratelimit.LocalDenialCache {
			m.repeated.WithLabelValues(policyID).Inc()
		}
	default:
		m.failures.WithLabelValues(kind, string(o.Category())).Inc()
	}
	if o.Category() == ratelimit.Category(ratelimit.UnavailableOverloaded) {
		m.refusals.Inc()
	}
	m.decisions.WithLabelValues(policyID, kind, verdict).Inc()
	m.seconds.WithLabelValues(kind).Observe(took.Seconds())
}

// source is who decided o; "" if nobody did.
func source(o ratelimit.Outcome) ratelimit.Source {
	return ratelimit.Match(o,
		func(e ratelimit.Evaluated) ratelimit.Source { return e.Decision.Source },
		func(ratelimit.Unavailable) ratelimit.Source { return "" },
		func(ratelimit.Indeterminate) ratelimit.Source { return "" },
		func(ratelimit.Incompatible) ratelimit.Source { return "" })
}
