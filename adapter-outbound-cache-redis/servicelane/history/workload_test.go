package history_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// load is what the clients of a process ask, and of whom. The orders say the limiters, one phase each.
type load struct {
	open func(ctx context.Context, o orders) (limiter, error)
	pick func(draw *rand.Rand, o orders, n int) call // the n-th call of a client
}

// The loads. In the first three, time counts: windows end and buckets fill while the clients ask. In the others it does
// not, so that a call may be charged at any time with one effect; and a state is in use for some calls only, so that
// few of unknown outcome meet in one.
const (
	edgeLoad       = "edge"
	logLoad        = "log"
	seededLoad     = "seeded"
	edgeFaultsLoad = "edge, with faults"
	logFaultsLoad  = "log, with faults"
	resendingLoad  = "seeded, with faults"
)

var loads = map[string]load{
	edgeLoad:       {openEdge, pickEdge},
	seededLoad:     {openSeeded, pickSeeded},
	edgeFaultsLoad: {openEdge, pickInTurn},
	logLoad:        {openLog(logWindow), pickInTurn},
	logFaultsLoad:  {openLog(longLogWindow), pickInTurn},
	resendingLoad:  {openSeeded, pickInTurn},
}

const (
	subjects = 8 // in use at a time
	mostCost = 4 // of the edge port
)

// The log's windows and limits.
const (
	logWindow     = 50 * time.Millisecond
	longLogWindow = time.Hour

	tenantLimit = 6
	userLimit   = 2
	users       = 3

	longTenantLimit = 90
	longUserLimit   = 40
)

// policies are all that a process may be told to ask under. Those that are long free nothing within a test. A grace
// below a second keeps evaluations from being sent as a batch.
func policies() []ratelimit.Policy {
	const limit, longLimit = 20, 240
	window, filling := 40*time.Millisecond, 21*time.Millisecond
	var all []ratelimit.Policy
	for _, p := range []struct {
		id        string
		algorithm ratelimit.Algorithm
		grace     time.Duration
	}{
		{"fixed-window", ratelimit.FixedWindow{Limit: limit, Window: window}, 30 * time.Second},
		{"sliding-window-counter", ratelimit.SlidingWindowCounter{Limit: limit, Window: window}, 30 * time.Second},
		{"token-bucket", ratelimit.TokenBucket{Capacity: limit, RefillTokens: 10, RefillPeriod: filling}, 30 * time.Second},
		{"fixed-window-alone", ratelimit.FixedWindow{Limit: limit, Window: window}, 999 * time.Millisecond},
		{"sliding-window-counter-alone", ratelimit.SlidingWindowCounter{Limit: limit, Window: window}, 999 * time.Millisecond},
		{"token-bucket-alone", ratelimit.TokenBucket{Capacity: limit, RefillTokens: 10, RefillPeriod: filling}, 999 * time.Millisecond},
		{"fixed-window-long", ratelimit.FixedWindow{Limit: longLimit, Window: 366 * 24 * time.Hour}, 30 * time.Second},
		{"sliding-window-counter-long", ratelimit.SlidingWindowCounter{Limit: longLimit, Window: 100 * 24 * time.Hour}, 30 * time.Second},
		{"token-bucket-long", ratelimit.TokenBucket{Capacity: longLimit, RefillTokens: 1, RefillPeriod: 24 * time.Hour}, 30 * time.Second},
	} {
		policy, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
			ID: p.id, Revision: 1, Algorithm: p.algorithm, MaxCost: mostCost, FailureMode: ratelimit.FailClosed,
			MaxClockRegression: 500 * time.Millisecond, CleanupGrace: p.grace,
		})
		if err != nil {
			panic(err) // the parameters above are constants
		}
		all = append(all, policy)
	}
	return all
}

func policyOf(id string) ratelimit.Policy {
	for _, p := range policies() {
		if p.ID() == id {
			return p
		}
	}
	panic("no policy " + id)
}

func pickEdge(draw *rand.Rand, o orders, n int) call {
	return call{Limiter: o.Limiters[n*len(o.Limiters)/o.Calls], Subject: subject(0, draw.IntN(subjects)), Cost: 1 + draw.Int64N(mostCost)}
}

func pickInTurn(draw *rand.Rand, o orders, n int) call {
	c := inTurn(o, n/o.Turn, draw.IntN(subjects))
	if c.Limiter == slidingLog {
		c.User = callers[draw.IntN(len(callers))]
	} else {
		c.Cost += draw.Int64N(mostCost)
	}
	return c
}

// callers of a tenant are the tenant itself and users, of whom the first asks more than he may.
var callers = []int{0, 1, 1, 1, 1, 2, 2, 3}

// inTurn is the least call of one of the states that are in use in a turn.
func inTurn(o orders, turn, n int) call {
	if limiter := o.Limiters[turn%len(o.Limiters)]; limiter != slidingLog {
		return call{Limiter: limiter, Subject: subject(turn, n), Cost: 1}
	}
	return call{Limiter: slidingLog, Subject: tenant(o.Prefix, turn, n)}
}

// pickSeeded asks the one limiter of a seed.
func pickSeeded(draw *rand.Rand, o orders, n int) call {
	if o.Limiters[0] == slidingLog {
		return pickInTurn(draw, o, n)
	}
	return pickEdge(draw, o, n)
}

// subject is a digest.
func subject(turn, n int) string { return fmt.Sprintf("subject-of-histories-%d-%d", turn, n) }

// tenant and userOf are whole keys.
func tenant(prefix string, turn, n int) string { return fmt.Sprintf("rl:{%s-%d-%d}", prefix, turn, n) }

func userOf(tenant string, n int) string { return fmt.Sprintf("%s:user:%d", tenant, n) }
