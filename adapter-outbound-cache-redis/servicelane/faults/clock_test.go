package faults_test

import (
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// clamped is how far back the rig's policies let the clock step.
const clamped = 2 * time.Second

// planted are the numbers of a state that was charged so much.
func planted(policy string, charged int64) []string {
	count := strconv.FormatInt(charged, 10)
	switch policy {
	case "fixed-window":
		return []string{"consumed", count}
	case "sliding-window-counter":
		return []string{"previous", "0", "current", count}
	default:
		return []string{"tokens", strconv.FormatInt((rig.Limit-charged)*ratelimit.TokenScale, 10), "remainder", "0"}
	}
}

// plant writes a state as the programs would have, had the clock then been so far from now. It answers the time that
// the state has seen.
func (s *scene) plant(q question, charged int64, from time.Duration) (observed int64) {
	s.t.Helper()
	for _, p := range s.edge.Config.Policies {
		if p.ID() == q.way {
			observed = s.millis() + from.Milliseconds()
			key := s.edge.StateKey(q.way, q.subject)
			s.do(append([]string{"HSET", key, "schema", program.Schema(p), "observed", strconv.FormatInt(observed, 10)},
				planted(q.way, charged)...)...)
			s.do("PEXPIRE", key, "3600000")
		}
	}
	return observed
}

// millis is the server's clock.
func (s *scene) millis() int64 {
	s.t.Helper()
	parts := s.do("TIME").([]any)
	seconds, _ := strconv.ParseInt(parts[0].(string), 10, 64)
	micros, _ := strconv.ParseInt(parts[1].(string), 10, 64)
	return seconds*1000 + micros/1000
}

// A step is a state that was written by another time, so that any server can be asked, and none is harmed.
func TestClock(t *testing.T) {
	t.Parallel()
	own := server.Start(t)
	for sentence, row := range map[string]func(t *testing.T, own server.Server){
		"a small step back is clamped":                       aSmallStepBackIsClamped,
		"a large step back is unsafe until it is not":        aLargeStepBackIsUnsafeUntilItIsNot,
		"an hour back is refused and writes nothing":         anHourBackIsRefusedAndWritesNothing,
		"a step forward is one new allowance and never more": aStepForwardIsOneNewAllowance,
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			row(t, own)
		})
	}
}

// A step back that the policy allows for counts on from the time that was seen.
func aSmallStepBackIsClamped(t *testing.T, own server.Server) {
	const step = 1500 * time.Millisecond
	s := edgePort.at(t, own)
	var asked []question
	for _, p := range s.edge.Config.Policies {
		q := questionOf(p.ID())
		observed := s.plant(q, 1, step)
		s.demand(q, rig.Allowed(rig.Limit-2))
		if kept := s.observed(q); kept != observed {
			t.Errorf("%s: the state has seen %d, want %d still", q.way, kept, observed)
		}
		s.expectChargedSince(q, 1, 1)
		asked = append(asked, q)
	}
	s.record("the clock steps back by 1.5 s of the 2 s allowed", "counted on from the time that was seen")
	s.goesOn(asked...)
}

// A larger step back is told with the exact time until it is safe: not a moment sooner is anybody served, nor later.
func aLargeStepBackIsUnsafeUntilItIsNot(t *testing.T, own server.Server) {
	const beyond = 400 * time.Millisecond
	s := edgePort.at(t, own)
	for _, p := range s.edge.Config.Policies {
		q := questionOf(p.ID())
		safe := s.plant(q, 1, clamped+beyond) - clamped.Milliseconds()
		refusals := int64(0)
		s.Eventually("be safe", func() bool {
			before := s.millis()
			o := s.edge.Evaluate(q.way, q.subject, 1)
			after, said := s.millis(), rig.Say(o)
			s.enter(said)
			switch {
			case said == "unavailable CLOCK" && before < safe:
				refusals++
				if retry := retryOf(o); retry < safe-after || retry > safe-before {
					t.Errorf("%s: retry after %d ms, want %d to %d", q.way, retry, safe-after, safe-before)
				}
			case said == rig.Allowed(rig.Limit-2) && after >= safe:
				return true
			default:
				t.Errorf("%s: got %s between %d and %d ms from the safe moment", q.way, said, before-safe, after-safe)
			}
			return t.Failed()
		})
		if refusals == 0 {
			t.Errorf("%s: no call met the step back", q.way)
		}
		s.expectChargedSince(q, 1, 1) // the one that was admitted
	}
	s.record("the clock steps back by 2.4 s of the 2 s allowed", "each refusal said to the millisecond when it would end")
}

// An hour back is refused for an hour less what the policy allows for, and leaves the state as it is.
func anHourBackIsRefusedAndWritesNothing(t *testing.T, own server.Server) {
	s := edgePort.at(t, own)
	for _, p := range s.edge.Config.Policies {
		q := questionOf(p.ID())
		s.expectUnsafe(q, s.plant(q, 1, time.Hour)-clamped.Milliseconds())
		s.expectChargedSince(q, 1, 0)
	}
	s.recovers()
	s.record("the clock steps back by an hour", "others were served meanwhile")
}

// expectUnsafe asks, and demands a refusal that says when it ends and leaves the state as it was.
func (s *scene) expectUnsafe(q question, safe int64) {
	s.t.Helper()
	state, before := s.edge.State(q.way, q.subject), s.millis()
	o := s.edge.Evaluate(q.way, q.subject, 1)
	after := s.millis()
	s.enter(rig.Say(o))
	if got := rig.Say(o); got != "unavailable CLOCK" {
		s.t.Errorf("%s: got %s, want unavailable CLOCK", q.way, got)
	}
	if retry := retryOf(o); retry < safe-after || retry > safe-before {
		s.t.Errorf("%s: retry after %d ms, want %d to %d", q.way, retry, safe-after, safe-before)
	}
	if left := s.edge.State(q.way, q.subject); !maps.Equal(left, state) {
		s.t.Errorf("%s: the refusal left %v, was %v", q.way, left, state)
	}
}

// observed is the latest time that a subject's state has seen.
func (s *scene) observed(q question) int64 {
	s.t.Helper()
	at, err := strconv.ParseInt(s.edge.State(q.way, q.subject)["observed"], 10, 64)
	if err != nil {
		s.t.Fatalf("%s: read the state: %v", q.way, err)
	}
	return at
}

// A step forward gives a subject at most one new allowance.
func aStepForwardIsOneNewAllowance(t *testing.T, own server.Server) {
	const more = 5 // calls beyond the limit
	s := edgePort.at(t, own)
	for _, p := range s.edge.Config.Policies {
		q := questionOf(p.ID())
		s.plant(q, rig.Limit, -2*366*24*time.Hour)
		for n := range int64(rig.Limit) {
			s.demand(q, rig.Allowed(rig.Limit-1-n))
		}
		for range more {
			s.demand(q, "denied 0")
		}
		s.expectCharged(q, rig.Limit)
	}
	s.record("the clock steps forward by two years", "who had spent his limit had it once more, and no more")
}

// retryOf is the milliseconds until a failure is over.
func retryOf(o ratelimit.Outcome) int64 {
	none := int64(-1)
	return ratelimit.Match(o, func(ratelimit.Evaluated) int64 { return none },
		func(u ratelimit.Unavailable) int64 { return u.RetryAfter.Milliseconds() },
		func(ratelimit.Indeterminate) int64 { return none }, func(ratelimit.Incompatible) int64 { return none })
}
