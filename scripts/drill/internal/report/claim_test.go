package report_test

import (
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/scripts/drill/internal/report"
	"github.com/edgelimit/edgelimit/scripts/drill/internal/tally"
)

func TestBroken_isNothingWhereAllHolds(t *testing.T) {
	if broken := played().Broken(); len(broken) > 0 {
		t.Errorf("got %q", broken)
	}
}

func TestBroken_namesTheClaimThatAFigureRefutes(t *testing.T) {
	const alone, parted, shut = 0, 1, 2
	for _, row := range []struct {
		sentence string
		scenario int
		change   func(*report.Scenario)
		want     string
	}{
		{"an error", alone, func(s *report.Scenario) { s.Phases[tally.Whole].Failed = 1 }, "every request was answered"},
		{"a request that passed unseen", alone, func(s *report.Scenario) { s.Upstream++ }, "the upstream saw"},
		{"Redis admitted one too many", alone, func(s *report.Scenario) { s.Phases[tally.Whole].WorstByRedis = 301 }, "in no window did Redis admit"},
		{"the load was too weak before", alone, func(s *report.Scenario) { s.Phases[tally.Before].WorstByRedis = 269 }, "the load reached the limit"},
		{"the load was too weak after", shut, func(s *report.Scenario) { s.Phases[tally.After].WorstByRedis = 269 }, "the load reached the limit"},
		{"an answer of the outage without its mark", alone, func(s *report.Scenario) { s.Phases[tally.Outage].Local-- }, "marked as local"},
		{"a replica admitted more than its part", parted, func(s *report.Scenario) { s.Phases[tally.Whole].WorstByReplica = 151 }, "a replica alone admit more"},
		{"the replicas admitted more than their parts", parted, func(s *report.Scenario) { s.Phases[tally.Outage].Worst = 301 }, "parts add up to"},
		{"the replicas admitted far less", alone, func(s *report.Scenario) { s.Phases[tally.Outage].Worst = 539 }, "parts add up to"},
		{"too much around the kill", parted, func(s *report.Scenario) { s.Phases[tally.AroundKill].Worst = 601 }, "around the kill"},
		{"too much around the return", alone, func(s *report.Scenario) { s.Phases[tally.AroundReturn].Worst = 901 }, "around the return"},
		{"a fallback that no metric counted", alone, func(s *report.Scenario) { s.Counted-- }, "counted every fallback"},
		{"not ready with a fallback", parted, func(s *report.Scenario) { s.Readyz = 503 }, "/readyz answered 503"},
		{"one admitted while closed", shut, func(s *report.Scenario) { s.Phases[tally.Outage].Admitted = 1 }, "nothing was admitted"},
		{"no load while closed", shut, func(s *report.Scenario) { s.Phases[tally.Outage] = tally.Figures{} }, "nothing was admitted"},
		{"denied while closed", shut, func(s *report.Scenario) { s.Phases[tally.Outage].Refused-- }, "every answer was a 503"},
		{"a local answer while closed", shut, func(s *report.Scenario) { s.Phases[tally.Whole].Local = 1 }, "decided anything alone"},
		{"above the limit while closed", shut, func(s *report.Scenario) { s.Phases[tally.Whole].Worst = 301 }, "more than the limit admitted"},
		{"a 503 that no metric counted", shut, func(s *report.Scenario) { s.Counted-- }, "counted every 503"},
		{"ready while closed", shut, func(s *report.Scenario) { s.Readyz = 200 }, "/readyz answered 200"},
	} {
		r := played()
		row.change(&r.Scenarios[row.scenario])
		broken := r.Broken()
		if len(broken) != 1 || !strings.Contains(broken[0], row.want) || !strings.HasPrefix(broken[0], r.Scenarios[row.scenario].Name()) {
			t.Errorf("%s: got %q, want one claim with %q", row.sentence, broken, row.want)
		}
		if !strings.Contains(r.Text(), "**does not hold:**") {
			t.Errorf("%s: the page claims it", row.sentence)
		}
	}
}
