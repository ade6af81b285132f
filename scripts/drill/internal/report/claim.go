package report

import (
	"fmt"

	"github.com/edgelimit/edgelimit/scripts/drill/internal/tally"
)

// Claim is a sentence about the figures, and whether they bear it out.
type Claim struct {
	Sentence string
	Holds    bool
}

// Enough tells whether a count comes near its bound: 90 %. A load that never asked
// for the bound shows nothing.
func Enough(count, bound int) bool { return count*10 >= bound*9 }

// Claims are what must hold of every run, by what the limiter promises and never by
// how fast it was.
func (r Report) Claims(s Scenario) []Claim {
	whole := s.Phases[tally.Whole]
	before, after := s.Phases[tally.Before].WorstByRedis, s.Phases[tally.After].WorstByRedis
	claims := []Claim{
		{fmt.Sprintf("every request was answered 200, 429 or 503: %d of %d", whole.Requests-whole.Failed, whole.Requests), whole.Failed == 0},
		{fmt.Sprintf("the upstream saw what was admitted and nothing else: %d of %d", s.Upstream, whole.Admitted), s.Upstream == whole.Admitted},
		{fmt.Sprintf("in no window did Redis admit more than the limit: at most %d of %d", whole.WorstByRedis, r.Limit), whole.WorstByRedis <= r.Limit},
		{fmt.Sprintf("the load reached the limit before and after: %d and %d of %d", before, after, r.Limit), Enough(before, r.Limit) && Enough(after, r.Limit)},
	}
	if s.Policy == FailClosed {
		return append(claims, r.closed(s)...)
	}
	return append(claims, r.local(s)...)
}

func (r Report) local(s Scenario) []Claim {
	whole, outage := s.Phases[tally.Whole], s.Phases[tally.Outage]
	alone := s.Fallback(r.Limit)
	together := alone * r.Replicas
	kill, back := s.Phases[tally.AroundKill].Worst, s.Phases[tally.AroundReturn].Worst
	return []Claim{
		{fmt.Sprintf("every answer of the outage is marked as local: %d of %d", outage.Local, outage.Requests), outage.Local == outage.Requests},
		{fmt.Sprintf("in no window did a replica alone admit more than its part: at most %d of %d", whole.WorstByReplica, alone), whole.WorstByReplica <= alone},
		{fmt.Sprintf("in the outage %d replicas admitted what their parts add up to, and not more: %d of %d", r.Replicas, outage.Worst, together), outage.Worst <= together && Enough(outage.Worst, together)},
		{fmt.Sprintf("in a window around the kill, and in one around the return, not more than both logs: %d and %d of %d", kill, back, r.Limit+together), max(kill, back) <= r.Limit+together},
		{fmt.Sprintf("the replicas' own metrics counted every fallback: %d of %d", s.Counted, whole.Local), s.Counted == whole.Local},
		{fmt.Sprintf("in the outage /readyz answered %d and named it", s.Readyz), s.Readyz == 200},
	}
}

func (r Report) closed(s Scenario) []Claim {
	whole, outage := s.Phases[tally.Whole], s.Phases[tally.Outage]
	return []Claim{
		{fmt.Sprintf("in the outage nothing was admitted: %d of %d", outage.Admitted, outage.Requests), outage.Admitted == 0 && outage.Requests > 0},
		{fmt.Sprintf("in the outage every answer was a 503: %d of %d", outage.Refused, outage.Requests), outage.Refused == outage.Requests},
		{fmt.Sprintf("no replica decided anything alone: %d answers are marked as local", whole.Local), whole.Local == 0},
		{fmt.Sprintf("in no window of the run was more than the limit admitted: at most %d of %d", whole.Worst, r.Limit), whole.Worst <= r.Limit},
		{fmt.Sprintf("the replicas' own metrics counted every 503: %d of %d", s.Counted, whole.Refused), s.Counted == whole.Refused},
		{fmt.Sprintf("in the outage /readyz answered %d", s.Readyz), s.Readyz == 503},
	}
}

// Broken are the claims that the figures do not bear out.
func (r Report) Broken() []string {
	var broken []string
	for _, s := range r.Scenarios {
		for _, claim := range r.Claims(s) {
			if !claim.Holds {
				broken = append(broken, s.Name()+": it does not hold that "+claim.Sentence)
			}
		}
	}
	return broken
}
