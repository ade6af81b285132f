package metrics_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/app-bootstrap/internal/metrics"
	"github.com/edgelimit/edgelimit/shared-contract/contracttest"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

func policy(t *testing.T) ratelimit.Policy {
	t.Helper()
	p, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: "api", Revision: 3, Algorithm: ratelimit.FixedWindow{Limit: 10, Window: time.Minute},
		MaxCost: 1, FailureMode: ratelimit.FailClosed,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// evaluate asks about the policy of that id once.
func evaluate(t *testing.T, port ratelimit.EdgeRateLimitPort, policyID string) ratelimit.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return port.Evaluate(ctx, ratelimit.Request{PolicyID: policyID, SubjectDigest: "planted-subject-digest", Cost: 1})
}

// repeat is o as the denial cache says it again.
func repeat(o ratelimit.Outcome) ratelimit.Outcome {
	return ratelimit.Match(o,
		func(e ratelimit.Evaluated) ratelimit.Outcome {
			e.Decision.Source = ratelimit.LocalDenialCache
			return e.Outcome()
		},
		ratelimit.Unavailable.Outcome, ratelimit.Indeterminate.Outcome, ratelimit.Incompatible.Outcome)
}

func TestMeter_countsRepeatedDenialsByThemselves(t *testing.T) {
	p := policy(t)
	denial := contracttest.Deny(p, time.Second)
	outcomes := []ratelimit.Outcome{
		contracttest.Allow(p, 9), denial, repeat(denial), repeat(denial), ratelimit.Indeterminate{PolicyID: "api"}.Outcome(),
	}
	registry := prometheus.NewRegistry()
	port := metrics.Meter(registry, contracttest.NewScripted(outcomes...), []ratelimit.Policy{p})
	for range outcomes {
		evaluate(t, port, "api")
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP edgelimit_decisions_total Evaluations by policy, outcome, and verdict (allowed or denied; none without a decision).
# TYPE edgelimit_decisions_total counter
edgelimit_decisions_total{outcome="evaluated",policy="api",verdict="allowed"} 1
edgelimit_decisions_total{outcome="evaluated",policy="api",verdict="denied"} 3
edgelimit_decisions_total{outcome="indeterminate",policy="api",verdict="none"} 1
# HELP edgelimit_repeated_denials_total Denials that the denial cache repeated without asking Redis, by policy; decisions_total has them too.
# TYPE edgelimit_repeated_denials_total counter
edgelimit_repeated_denials_total{policy="api"} 2
`), "edgelimit_decisions_total", "edgelimit_repeated_denials_total"); err != nil {
		t.Error(err)
	}
}

func TestMeter_countsEveryOutcomeOnce(t *testing.T) {
	p := policy(t)
	unavailable := func(why ratelimit.UnavailableCategory) ratelimit.Outcome {
		return ratelimit.Unavailable{PolicyID: "api", Category: why}.Outcome()
	}
	outcomes := []ratelimit.Outcome{
		contracttest.Allow(p, 9), contracttest.Allow(p, 8), contracttest.Deny(p, time.Second),
		unavailable(ratelimit.UnavailableOverloaded), unavailable(ratelimit.UnavailableConnection),
		ratelimit.Indeterminate{PolicyID: "api"}.Outcome(),
		ratelimit.Incompatible{PolicyID: "api", Category: ratelimit.IncompatibleState}.Outcome(),
	}
	registry := prometheus.NewRegistry()
	port := metrics.Meter(registry, contracttest.NewScripted(outcomes...), []ratelimit.Policy{p})
	for _, want := range outcomes {
		if got := evaluate(t, port, "api"); got != want {
			t.Errorf("got %v, want the port's own outcome %v", got, want)
		}
	}
	evaluate(t, port, "planted-policy-1")
	evaluate(t, port, "planted-policy-2")
	evaluate(t, port, "planted policy")

	err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP edgelimit_admission_refusals_total Evaluations refused because every place in flight stayed taken for the admission wait.
# TYPE edgelimit_admission_refusals_total counter
edgelimit_admission_refusals_total 1
# HELP edgelimit_decisions_total Evaluations by policy, outcome, and verdict (allowed or denied; none without a decision).
# TYPE edgelimit_decisions_total counter
edgelimit_decisions_total{outcome="evaluated",policy="api",verdict="allowed"} 2
edgelimit_decisions_total{outcome="evaluated",policy="api",verdict="denied"} 1
edgelimit_decisions_total{outcome="incompatible",policy="api",verdict="none"} 1
edgelimit_decisions_total{outcome="incompatible",policy="unknown",verdict="none"} 1
edgelimit_decisions_total{outcome="indeterminate",policy="api",verdict="none"} 1
edgelimit_decisions_total{outcome="indeterminate",policy="unknown",verdict="none"} 2
edgelimit_decisions_total{outcome="unavailable",policy="api",verdict="none"} 2
# HELP edgelimit_evaluations_in_flight Evaluations that have begun and not ended, those waiting for a place included.
# TYPE edgelimit_evaluations_in_flight gauge
edgelimit_evaluations_in_flight 0
# HELP edgelimit_failures_total Evaluations without a decision, by outcome and the category of their cause.
# TYPE edgelimit_failures_total counter
edgelimit_failures_total{category="",outcome="indeterminate"} 3
edgelimit_failures_total{category="CONNECTION",outcome="unavailable"} 1
edgelimit_failures_total{category="OVERLOADED",outcome="unavailable"} 1
edgelimit_failures_total{category="REQUEST",outcome="incompatible"} 1
edgelimit_failures_total{category="STATE",outcome="incompatible"} 1
# HELP edgelimit_policy_info Always 1: the policies in force.
# TYPE edgelimit_policy_info gauge
edgelimit_policy_info{algorithm="fixed-window",limit="10",policy="api",revision="3"} 1
`), "edgelimit_admission_refusals_total", "edgelimit_decisions_total", "edgelimit_evaluations_in_flight",
		"edgelimit_failures_total", "edgelimit_policy_info")
	if err != nil {
		t.Error(err)
	}
	shown, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range shown {
		if strings.Contains(family.String(), "planted") {
			t.Errorf("a label holds what a caller sent: %v", family)
		}
	}
}

// waiting is a port whose evaluations end when the test says so.
type waiting struct{ end chan struct{} }

func (w waiting) Evaluate(context.Context, ratelimit.Request) ratelimit.Outcome {
	<-w.end
	return ratelimit.Outcome{}
}

func TestMeter_showsWhatIsInFlight(t *testing.T) {
	registry := prometheus.NewRegistry()
	slow := waiting{make(chan struct{})}
	port := metrics.Meter(registry, slow, []ratelimit.Policy{policy(t)})
	const callers = 5
	done := make(chan struct{})
	for range callers {
		go func() {
			evaluate(t, port, "api")
			done <- struct{}{}
		}()
	}
	inFlight := func() string {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			if family.GetName() == "edgelimit_evaluations_in_flight" {
				return family.GetMetric()[0].GetGauge().String()
			}
		}
		return ""
	}
	deadline := time.Now().Add(30 * time.Second)
	for inFlight() != "value:5" {
		if time.Now().After(deadline) {
			t.Fatalf("got %q in flight, want 5", inFlight())
		}
		time.Sleep(time.Millisecond)
	}
	close(slow.end)
	for range callers {
		<-done
	}
	if got := inFlight(); got != "value:0" {
		t.Errorf("got %q in flight, want 0", got)
	}
}

// connection is a coordination client with these figures.
type connection struct{}

func (connection) Stats() coordination.Stats {
	return coordination.Stats{Open: 8, Idle: 5, Dialing: 2, InFlight: 3, Waiting: 7}
}
func (connection) Health() coordination.Health { return coordination.Health{Ready: true} }
func (connection) Breaker() string             { return "half-open" }

func TestObserve_showsTheConnectionAtEachScrape(t *testing.T) {
	registry := prometheus.NewRegistry()
	metrics.Observe(registry, connection{})
	if err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP edgelimit_breaker_state 1 for the state that the breaker is in, else 0.
# TYPE edgelimit_breaker_state gauge
edgelimit_breaker_state{state="closed"} 0
edgelimit_breaker_state{state="half-open"} 1
edgelimit_breaker_state{state="open"} 0
# HELP edgelimit_redis_connections Connections to the coordination Redis by state.
# TYPE edgelimit_redis_connections gauge
edgelimit_redis_connections{state="dialing"} 2
edgelimit_redis_connections{state="idle"} 5
edgelimit_redis_connections{state="in-flight"} 3
# HELP edgelimit_redis_ready 1 if the coordination Redis serves, else 0.
# TYPE edgelimit_redis_ready gauge
edgelimit_redis_ready 1
# HELP edgelimit_redis_waiting Evaluations waiting for a place in flight.
# TYPE edgelimit_redis_waiting gauge
edgelimit_redis_waiting 7
`)); err != nil {
		t.Error(err)
	}
}
