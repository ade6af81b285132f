package faults_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

const (
	shiftTimeout = 250 * time.Millisecond
	loneTimeout  = time.Second // a call of the log dials within it as well
)

// shift is what puts a reply where another one is waited for.
type shift struct {
	sentence string
	fault    redistest.Fault
	shifts   bool // within a group: the next reply stands in its place, and shows as one of another policy
}

func shiftsOf(timeout time.Duration) []shift {
	return []shift{
		{"a reply is eaten", redistest.Replace(nil), true},
		{"a reply comes when its caller has given up", redistest.Delay(timeout * 3 / 2), false},
	}
}

// One caller after another on one connection: who comes after a reply that was missed reads his own.
func TestShift_theNextCallerReadsHisOwn(t *testing.T) {
	const missed = 30 // what the reply that is missed is of, so that it would show
	each(t, func(t *testing.T, k *kind) {
		own := server.Start(t) // a link of its own is what each row harms
		for _, row := range shiftsOf(loneTimeout) {
			t.Run(row.sentence, func(t *testing.T) {
				t.Parallel()
				s := k.at(t, own, roomy(loneTimeout), func(o *options) { o.MaxInFlight = 1 })
				var lost []question
				before := int64(0)
				if s.edge != nil {
					for _, way := range s.ways() {
						lost = append(lost, question{way, rig.Subject(), missed})
					}
				} else { // whose calls are of cost 1
					before = missed
					lost = s.admit(before)
				}
				for _, q := range lost {
					s.Link.Fault("EVALSHA", 1, row.fault)
					s.demand(q, "indeterminate")
					next := questionOf(q.way)
					s.demand(next, admitted)
					s.expectChargedSince(q, before, q.cost)
					s.expectCharged(next, 1)
				}
				s.recovers()
				s.record(row.sentence, "the next caller, on a connection of his own, read his own")
				s.goesOn(lost...)
			})
		}
	})
}

// Forty callers, each with a policy, a limit and a subject of his own, over few connections: no decision shows the
// numbers of another caller, wherever replies are missing or late. Where a whole reply is missing, as no TCP connection
// has it, the next one is refused for the limit that it names. Between policies of one limit nothing would tell them
// apart, and no row says that it does.
func TestShift_noCallerIsToldAnothersDecision(t *testing.T) {
	t.Parallel()
	const callers, each = 40, 12
	own := server.Start(t) // a link of its own is what each row harms
	for _, row := range shiftsOf(shiftTimeout) {
		t.Run(row.sentence, func(t *testing.T) {
			t.Parallel()
			s := edgePort.at(t, own, roomy(shiftTimeout), func(o *options) {
				o.MaxInFlight, o.policies = 8, limitsOfTheirOwn(t, callers)
			})
			for range callers {
				s.Link.Fault("EVALSHA", 1, row.fault)
				s.Link.Fault("EVALSHA", 5, redistest.Pass())
			}
			var all sync.WaitGroup
			asked := make([]question, callers)
			for i, p := range s.edge.Config.Policies {
				asked[i] = questionOf(p.ID())
				all.Go(func() { s.askInARow(p, asked[i].subject, each) })
			}
			all.Wait()
			s.Link.Heal()
			took := s.recovers()
			for _, q := range asked {
				s.expectChargedWithin(q, 0, each)
			}
			if s.count("indeterminate") == 0 || s.count("allowed") == 0 {
				t.Errorf("heard %v, want the fault and decisions beside it", s.heard)
			}
			if shifted := s.count("incompatible REPLY"); shifted > callers || shifted > 0 && !row.shifts {
				t.Errorf("%d calls read a reply of another policy", shifted)
			}
			s.expectHeard("allowed", "indeterminate", "incompatible REPLY")
			s.record(fmt.Sprintf("%s; %d callers", row.sentence, callers),
				"%d replies were of another's policy and limit, and refused for that; served again within %v",
				s.count("incompatible REPLY"), round(took))
		})
	}
}

// limitsOfTheirOwn are policies of all algorithms in turn, no two of one limit.
func limitsOfTheirOwn(t *testing.T, n int) []ratelimit.Policy {
	var all []ratelimit.Policy
	for i := range n {
		limit := int64(rig.Limit + i)
		a := []ratelimit.Algorithm{
			ratelimit.FixedWindow{Limit: limit, Window: 366 * 24 * time.Hour},
			ratelimit.SlidingWindowCounter{Limit: limit, Window: 100 * 24 * time.Hour},
			ratelimit.TokenBucket{Capacity: limit, RefillTokens: 1, RefillPeriod: 24 * time.Hour},
		}[i%3]
		all = append(all, rig.PolicyNamed(t, fmt.Sprintf("limit-%d", limit), a))
	}
	return all
}

// askInARow asks for one subject n times. What is left must be of the policy's limit and of this subject's own calls:
// all that were allowed are charged, and no more than were asked.
func (s *scene) askInARow(p ratelimit.Policy, subject string, n int64) {
	allowed := int64(0)
	for call := int64(1); call <= n; call++ {
		o := s.edge.Evaluate(p.ID(), subject, 1)
		s.enter(rig.Say(o))
		ratelimit.Match(o, func(e ratelimit.Evaluated) struct{} {
			allowed++
			d := e.Decision
			if d.PolicyID != p.ID() || d.Limit != p.Limit() || d.Remaining < p.Limit()-call || d.Remaining > p.Limit()-allowed {
				s.t.Errorf("%s, call %d, %d allowed: got %+v", p.ID(), call, allowed, d)
			}
			return struct{}{}
		}, func(ratelimit.Unavailable) struct{} { return struct{}{} },
			func(ratelimit.Indeterminate) struct{} { return struct{}{} },
			func(ratelimit.Incompatible) struct{} { return struct{}{} })
	}
}
