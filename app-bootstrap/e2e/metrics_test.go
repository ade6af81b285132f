package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// metric is the value of the sample with exactly this name and these labels, ""
// if there is none.
func (p *process) metric(t testing.TB, sample string) string {
	t.Helper()
	for line := range strings.Lines(get(t, "http://"+p.admin+"/metrics").must(t, http.StatusOK).body) {
		if value, ok := strings.CutPrefix(line, sample+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func TestMetrics_countEveryRequestOnce(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	p := serve(t, limiting(t, server.Addr(), behind.URL, fixedWindow("api", 5), slidingCounter("other", 50)))
	eventually(t, "readiness", func() bool { return p.readiness(t) == http.StatusOK })
	for range 8 {
		get(t, "http://"+p.listen+"/")
	}
	rawPath(t, p.listen, "//refused").must(t, http.StatusBadRequest)
	p.evaluate(t, `{"subject":"alice","policy":"other"}`).must(t, http.StatusOK)
	p.evaluate(t, `{"subject":"alice","policy":"ghost"}`).must(t, http.StatusNotFound)
	check := func(want map[string]string) {
		t.Helper()
		for sample, value := range want {
			if got := p.metric(t, sample); got != value {
				t.Errorf("%s: got %q, want %q", sample, got, value)
			}
		}
	}
	check(map[string]string{
		`edgelimit_decisions_total{outcome="evaluated",policy="api",verdict="allowed"}`:                    "5",
		`edgelimit_decisions_total{outcome="evaluated",policy="api",verdict="denied"}`:                     "3",
		`edgelimit_decisions_total{outcome="evaluated",policy="other",verdict="allowed"}`:                  "1",
		`edgelimit_decisions_total{outcome="incompatible",policy="unknown",verdict="none"}`:                "1",
		`edgelimit_failures_total{category="REQUEST",outcome="incompatible"}`:                              "1",
		`edgelimit_evaluation_seconds_count{outcome="evaluated"}`:                                          "9",
		`edgelimit_evaluations_in_flight`:                                                                  "0",
		`edgelimit_admission_refusals_total`:                                                               "0",
		`edgelimit_breaker_state{state="closed"}`:                                                          "1",
		`edgelimit_breaker_state{state="open"}`:                                                            "0",
		`edgelimit_redis_ready`:                                                                            "1",
		`edgelimit_redis_connections{state="in-flight"}`:                                                   "0",
		`edgelimit_policy_info{algorithm="fixed-window",limit="5",policy="api",revision="1"}`:              "1",
		`edgelimit_policy_info{algorithm="sliding-window-counter",limit="50",policy="other",revision="1"}`: "1",
	})
	if idle := p.metric(t, `edgelimit_redis_connections{state="idle"}`); idle == "" || idle == "0" {
		t.Errorf("got %q idle connections, want a warm pool", idle)
	}

	server.Kill(t)
	const failures = 10
	for range failures {
		get(t, "http://"+p.listen+"/").must(t, http.StatusServiceUnavailable)
	}
	eventually(t, "open breaker", func() bool { return p.metric(t, `edgelimit_breaker_state{state="open"}`) == "1" })
	eventually(t, "end of readiness", func() bool { return p.metric(t, `edgelimit_redis_ready`) == "0" })
	unavailable := p.metric(t, `edgelimit_decisions_total{outcome="unavailable",policy="api",verdict="none"}`)
	indeterminate := p.metric(t, `edgelimit_decisions_total{outcome="indeterminate",policy="api",verdict="none"}`)
	if indeterminate == "" {
		indeterminate = "0"
	}
	if sum := integer(t, unavailable) + integer(t, indeterminate); sum != failures {
		t.Errorf("got %s unavailable and %s indeterminate, want %d together", unavailable, indeterminate, failures)
	}
	check(map[string]string{
		`edgelimit_decisions_total{outcome="evaluated",policy="api",verdict="allowed"}`: "5",
		`edgelimit_failures_total{category="CONNECTION",outcome="unavailable"}`:         unavailable,
	})
}

func TestLogs_saysNothingPerRequest(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	p := start(t, nil, "serve", "--config", limiting(t, server.Addr(), behind.URL, fixedWindow("api", 5)).file(t))
	var lines int
	eventually(t, "line that says where it serves", func() bool {
		lines = strings.Count(p.stderr.String(), "\n")
		return strings.Contains(p.stderr.String(), "msg=serving")
	})
	p.listen = printed(t, p.stderr.String(), ` listen=([0-9.:]+)`)
	p.admin = printed(t, p.stderr.String(), ` admin-listen=([0-9.:]+)`)
	eventually(t, "readiness", func() bool { return p.readiness(t) == http.StatusOK })
	for range 20 {
		get(t, "http://"+p.listen+"/x")
		rawPath(t, p.listen, "//x")
		p.evaluate(t, `{"subject":"alice"}`)
		p.evaluate(t, `{}`)
	}
	if after := strings.Count(p.stderr.String(), "\n"); after != lines || p.stdout.String() != "" {
		t.Errorf("80 requests made %d lines", after-lines)
	}
}
