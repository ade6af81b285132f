package report

import (
	"fmt"
	"time"

	"github.com/edgelimit/edgelimit/scripts/drill/internal/tally"
)

// Report is one run of the drill.
type Report struct {
	Date    string
	Form    string // Full or Short
	Command string
	Code    string // digest of the sources
	Redis   string // version
	Machine string

	Replicas int // gateway processes
	Window   time.Duration
	Limit    int           // requests a window of the tenant
	Rate     int           // requests a second, over all replicas
	Timeout  time.Duration // of a command

	Scenarios []Scenario
}

// The forms. Only the full one is evidence.
const (
	Full  = "full"
	Short = "short"
)

// The outage policies.
const (
	LocalFallback = "local-fallback"
	FailClosed    = "fail-closed"
)

// Scenario is one outage under one policy.
type Scenario struct {
	Policy   string // LocalFallback or FailClosed
	Replicas int    // as configured; the fallback divides by it

	Phases [len(tally.Names)]tally.Figures

	Readyz   int // the status of /readyz in the outage
	Counted  int // local fallbacks, or failures, by the replicas' own metrics
	Upstream int // requests that the upstream saw

	// From the start of the new Redis, in whole milliseconds: its first answer,
	// and the first answer that each replica had from it, soonest and latest.
	Answered, First, Last time.Duration
}

// Name is the scenario's heading.
func (s Scenario) Name() string {
	if s.Policy == FailClosed {
		return s.Policy
	}
	return fmt.Sprintf("%s, replicas: %d", s.Policy, s.Replicas)
}

// Fallback is the limit of one replica alone: 0 if it fails closed.
func (s Scenario) Fallback(limit int) int {
	if s.Policy == FailClosed || limit == 0 {
		return 0
	}
	return max(limit/s.Replicas, 1)
}

// Risk is what the figures say of an outage under this policy.
func (s Scenario) Risk(r Report) string {
	outage := s.Phases[tally.Outage]
	if s.Policy == FailClosed {
		return fmt.Sprintf("With `fail-closed` there is no excess to accept, and no service: during the outage %d of %d requests were admitted, "+
			"%d were answered 503, and the limit held in every window of the run, at most %d of %d.",
			outage.Admitted, outage.Requests, outage.Refused, s.Phases[tally.Whole].Worst, r.Limit)
	}
	return fmt.Sprintf("With `local-fallback` and `replicas: %d` the accepted risk is that during an outage each replica counts alone: "+
		"%d replicas admitted %d requests in a window whose limit is %d (%s). In a window around the kill it was %d (%s), "+
		"because what Redis had counted is forgotten; around the return it was %d (%s), because Redis comes back empty.",
		s.Replicas, r.Replicas, outage.Worst, r.Limit, times(outage.Worst, r.Limit),
		s.Phases[tally.AroundKill].Worst, times(s.Phases[tally.AroundKill].Worst, r.Limit),
		s.Phases[tally.AroundReturn].Worst, times(s.Phases[tally.AroundReturn].Worst, r.Limit))
}

// Felt is what clients noticed of the outage beside the limits.
func (s Scenario) Felt() string {
	before, outage := s.Phases[tally.Before], s.Phases[tally.Outage]
	source := "the first answer that was not local"
	if s.Policy == FailClosed {
		source = "the first answer that was not a 503"
	}
	return fmt.Sprintf("In the outage half of the requests were answered within %s ms and 99 %% within %s ms; before it, %s ms and %s ms. "+
		"From the start of the new Redis, which itself took %s ms to answer, it was %s ms to %s, and %s ms until every replica had given one.",
		hundredths(outage.P50), hundredths(outage.P99), hundredths(before.P50), hundredths(before.P99),
		millis(s.Answered), millis(s.First), source, millis(s.Last))
}

// times is a ratio, rounded down.
func times(count, limit int) string {
	hundredths := count * 100 / max(limit, 1)
	return fmt.Sprintf("%d.%02d times the limit", hundredths/100, hundredths%100)
}
