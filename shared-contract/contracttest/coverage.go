package contracttest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// Coverage counts what a walk has come through. The zero Coverage has counted
// nothing. It is not safe for concurrent use.
type Coverage struct {
	steps    int
	counts   [numFeatures]int
	policies map[ratelimit.Policy]bool // whether each is at its bounds
	counters bool                      // whether sliding-window counters are among them
}

// feature is something that a walk must come through often.
type feature int

const (
	statusAllowed feature = iota
	statusDenied
	statusClockUnsafe
	statusStateIncompatible
	statusInvalid
	clockHeld
	retryByDecay
	retryBySuccession
	numFeatures
)

var featureNames = [numFeatures]string{
	statusAllowed:           string(model.Allowed),
	statusDenied:            string(model.Denied),
	statusClockUnsafe:       string(model.ClockUnsafe),
	statusStateIncompatible: string(model.StateIncompatible),
	statusInvalid:           string(model.Invalid),
	clockHeld:               "decided by a clock that had stepped back",
	retryByDecay:            "retry when the previous window has decayed",
	retryBySuccession:       "retry when the current window has become the previous one",
}

// Count adds one evaluation by p on state, answered by reply.
func (c *Coverage) Count(p ratelimit.Policy, state model.State, reply model.Reply) {
	c.steps++
	c.see(p)
	switch reply.Status {
	case model.Allowed:
		c.counts[statusAllowed]++
	case model.Denied:
		c.counts[statusDenied]++
		c.countRetry(p, reply)
	case model.ClockUnsafe:
		c.counts[statusClockUnsafe]++
		return
	case model.StateIncompatible:
		c.counts[statusStateIncompatible]++
		return
	case model.Invalid:
		c.counts[statusInvalid]++
		return
	}
	if state.Exists && reply.ServerNowMillis < state.ObservedMillis {
		c.counts[clockHeld]++
	}
}

func (c *Coverage) see(p ratelimit.Policy) {
	if _, seen := c.policies[p]; seen {
		return
	}
	if c.policies == nil {
		c.policies = map[ratelimit.Policy]bool{}
	}
	c.policies[p] = atBounds(p.Algorithm())
	if p.Algorithm().Name() == ratelimit.NameSlidingWindowCounter {
		c.counters = true
	}
}

// countRetry tells the counter's two ways to wait apart by their end: the
// previous window decays no later than the current one ends.
func (c *Coverage) countRetry(p ratelimit.Policy, reply model.Reply) {
	counter, ok := p.Algorithm().(ratelimit.SlidingWindowCounter)
	if !ok {
		return
	}
	window := counter.Window.Milliseconds()
	end := reply.EffectiveNowMillis - reply.EffectiveNowMillis%window + window
	if reply.ServerNowMillis+reply.RetryAfterMillis <= end {
		c.counts[retryByDecay]++
	} else {
		c.counts[retryBySuccession]++
	}
}

// atBounds tells whether a step of one unit in a limit or a span would leave
// what a policy may be.
func atBounds(a ratelimit.Algorithm) bool {
	neighbours := ratelimit.MatchAlgorithm(a,
		func(a ratelimit.FixedWindow) []ratelimit.Algorithm {
			return []ratelimit.Algorithm{
				ratelimit.FixedWindow{Limit: a.Limit - 1, Window: a.Window},
				ratelimit.FixedWindow{Limit: a.Limit + 1, Window: a.Window},
				ratelimit.FixedWindow{Limit: a.Limit, Window: a.Window - time.Millisecond},
				ratelimit.FixedWindow{Limit: a.Limit, Window: a.Window + time.Millisecond},
			}
		},
		func(a ratelimit.SlidingWindowCounter) []ratelimit.Algorithm {
			return []ratelimit.Algorithm{
				ratelimit.SlidingWindowCounter{Limit: a.Limit - 1, Window: a.Window},
				ratelimit.SlidingWindowCounter{Limit: a.Limit + 1, Window: a.Window},
				ratelimit.SlidingWindowCounter{Limit: a.Limit, Window: a.Window - time.Millisecond},
				ratelimit.SlidingWindowCounter{Limit: a.Limit, Window: a.Window + time.Millisecond},
			}
		},
		func(a ratelimit.TokenBucket) []ratelimit.Algorithm {
			return []ratelimit.Algorithm{
				ratelimit.TokenBucket{Capacity: a.Capacity - 1, RefillTokens: a.RefillTokens, RefillPeriod: a.RefillPeriod},
				ratelimit.TokenBucket{Capacity: a.Capacity + 1, RefillTokens: a.RefillTokens, RefillPeriod: a.RefillPeriod},
				ratelimit.TokenBucket{Capacity: a.Capacity, RefillTokens: a.RefillTokens + 1, RefillPeriod: a.RefillPeriod},
				ratelimit.TokenBucket{Capacity: a.Capacity, RefillTokens: a.RefillTokens, RefillPeriod: a.RefillPeriod - time.Millisecond},
				ratelimit.TokenBucket{Capacity: a.Capacity, RefillTokens: a.RefillTokens, RefillPeriod: a.RefillPeriod + time.Millisecond},
			}
		})
	for _, neighbour := range neighbours {
		if !legal(neighbour) {
			return true
		}
	}
	return false
}

func (c *Coverage) policiesAtBounds() int {
	n := 0
	for _, bounds := range c.policies {
		if bounds {
			n++
		}
	}
	return n
}

// applies tells whether a walk by the policies seen can come through f at all.
func (c *Coverage) applies(f feature) bool {
	return c.counters || f != retryByDecay && f != retryBySuccession
}

// Report is a table of all counts, a line each.
func (c *Coverage) Report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%8d steps\n%8d policies, %d at their bounds\n", c.steps, len(c.policies), c.policiesAtBounds())
	for f, name := range featureNames {
		if c.applies(feature(f)) {
			fmt.Fprintf(&b, "%8d %s\n", c.counts[f], name)
		}
	}
	return b.String()
}

// Check says what was come through fewer than least times, and whether fewer
// than one policy in five was at its bounds. Both ways to wait are demanded
// where a sliding-window counter was walked.
func (c *Coverage) Check(least int) error {
	var errs []error
	for f, name := range featureNames {
		if c.applies(feature(f)) && c.counts[f] < least {
			errs = append(errs, fmt.Errorf("%s: %d times, want at least %d", name, c.counts[f], least))
		}
	}
	if bounds := c.policiesAtBounds(); 5*bounds < len(c.policies) || bounds == 0 {
		errs = append(errs, fmt.Errorf("%d of %d policies at their bounds, want one in five", bounds, len(c.policies)))
	}
	return errors.Join(errs...)
}
