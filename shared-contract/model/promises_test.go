package model_test

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// admission is what was admitted at one effective time.
type admission struct{ atMillis, cost int64 }

// hammer asks by p far more often than p allows, in steps small against its
// window, by a clock that also steps back, and returns what was admitted.
func hammer(r *rand.Rand, p ratelimit.Policy, spanMillis int64) []admission {
	m := model.New(p)
	var state model.State
	var admitted []admission
	now := 1_700_000_000_000 + r.Int64N(1e9)
	for range 160 {
		switch r.IntN(20) {
		case 0:
			now -= min(r.Int64N(spanMillis+1), p.MaxClockRegression().Milliseconds())
		default:
			now += r.Int64N(spanMillis/20 + 2)
		}
		cost := 1 + r.Int64N(max(1, p.Limit()/4))
		if r.IntN(2) == 0 {
			peek, _, _ := m.Step(state, now, p.Limit())
			cost = min(p.Limit(), peek.Remaining+r.Int64N(2))
		}
		var reply model.Reply
		reply, state, _ = m.Step(state, now, max(1, cost))
		if reply.Status == model.Allowed {
			admitted = append(admitted, admission{reply.EffectiveNowMillis, max(1, cost)})
		}
	}
	return admitted
}

// hammered calls holds with what each of many random policies admitted.
func hammered(t *testing.T, algorithm ratelimit.AlgorithmName, span func(ratelimit.Policy) int64,
	holds func(p ratelimit.Policy, admitted []admission) bool) {
	t.Helper()
	walk := newWalk(t, algorithm)
	total := 0
	for n := range uint64(100) {
		p := walk.Next(0).Policy
		admitted := hammer(rand.New(rand.NewPCG(n, 1)), p, span(p))
		if !holds(p, admitted) {
			t.Fatalf("not held by %+v: %+v", p, admitted)
		}
		total += len(admitted)
	}
	if total < 1500 {
		t.Errorf("%d admissions: too few to say anything", total)
	}
}

// intervals calls holds with each run of admissions: the sum of its costs and
// the time from its first to its last.
func intervals(admitted []admission, holds func(sum *big.Int, lengthMillis int64) bool) bool {
	for first := range admitted {
		sum := new(big.Int)
		for _, last := range admitted[first:] {
			sum.Add(sum, integer(last.cost))
			if !holds(sum, last.atMillis-admitted[first].atMillis) {
				return false
			}
		}
	}
	return true
}

func TestFixedWindow_admitsTheLimitInEachWindowAtMost(t *testing.T) {
	window := func(p ratelimit.Policy) int64 {
		return p.Algorithm().(ratelimit.FixedWindow).Window.Milliseconds()
	}
	hammered(t, ratelimit.NameFixedWindow, window, func(p ratelimit.Policy, admitted []admission) bool {
		sums := map[int64]*big.Int{}
		for _, a := range admitted {
			id := a.atMillis / window(p)
			if sums[id] == nil {
				sums[id] = new(big.Int)
			}
			if sums[id].Add(sums[id], integer(a.cost)).Cmp(integer(p.Limit())) > 0 {
				return false
			}
		}
		return true
	})
}

// In an interval of length x, up to a window, the counter admits at most
// limit x (1 + x / window).
func TestSlidingWindowCounter_admitsItsBoundInEachIntervalAtMost(t *testing.T) {
	window := func(p ratelimit.Policy) int64 {
		return p.Algorithm().(ratelimit.SlidingWindowCounter).Window.Milliseconds()
	}
	hammered(t, ratelimit.NameSlidingWindowCounter, window, func(p ratelimit.Policy, admitted []admission) bool {
		return intervals(admitted, func(sum *big.Int, length int64) bool {
			if length > window(p) {
				return true
			}
			bound := times(integer(p.Limit()), integer(window(p)+length))
			return times(sum, integer(window(p))).Cmp(bound) <= 0
		})
	})
}

// In an interval of length x, of any length, the bucket admits at most
// capacity + rate x x.
func TestTokenBucket_admitsItsBoundInEachIntervalAtMost(t *testing.T) {
	bucket := func(p ratelimit.Policy) ratelimit.TokenBucket { return p.Algorithm().(ratelimit.TokenBucket) }
	fill := func(p ratelimit.Policy) int64 {
		wait := new(big.Rat).Mul(big.NewRat(p.Limit(), bucket(p).RefillTokens), big.NewRat(bucket(p).RefillPeriod.Milliseconds(), 1))
		return ceiling(wait.Num(), wait.Denom()).Int64()
	}
	hammered(t, ratelimit.NameTokenBucket, fill, func(p ratelimit.Policy, admitted []admission) bool {
		period := integer(bucket(p).RefillPeriod.Milliseconds())
		return intervals(admitted, func(sum *big.Int, length int64) bool {
			earned := times(integer(length), integer(bucket(p).RefillTokens))
			bound := plus(times(integer(p.Limit()), period), earned)
			return times(sum, period).Cmp(bound) <= 0
		})
	})
}

// What many small charges leave is what one charge of their sum leaves, taken
// when the last of them was: nothing is lost or gained by asking often.
func TestTokenBucket_refillDoesNotDependOnHowOftenItIsEvaluated(t *testing.T) {
	walk := newWalk(t, ratelimit.NameTokenBucket)
	compared := 0
	for n := range uint64(400) {
		r := rand.New(rand.NewPCG(n, 2))
		p := walk.Next(0).Policy
		if p.Limit() < 4 {
			continue
		}
		m := model.New(p)
		start := model.State{Exists: true, ObservedMillis: 1_700_000_000_000, ScaledTokens: p.Limit() / 2 * ratelimit.TokenScale}
		often, now, spent := start, start.ObservedMillis, int64(0)
		tokens, periodMillis := p.Algorithm().(ratelimit.TokenBucket).Rate()
		for range 50 {
			next := now + r.Int64N(periodMillis/tokens+2)
			if full, _, _ := m.Step(start, next, p.Limit()); full.Status == model.Allowed || spent == p.Limit() {
				break // a full bucket forgets what it could not hold
			}
			reply, after, _ := m.Step(often, next, 1)
			if reply.Status == model.Allowed {
				often, now, spent = after, next, spent+1
			}
		}
		if spent < 2 {
			continue
		}
		compared++
		reply, once, _ := m.Step(start, now, spent)
		if reply.Status != model.Allowed || once != often {
			t.Fatalf("%+v, %d spent:\nonce  %+v\noften %+v", p, spent, once, often)
		}
	}
	if compared < 100 {
		t.Errorf("%d comparisons: too few to say anything", compared)
	}
}

func TestTokenBucket_pollingFasterThanTheRefillStarvesNobody(t *testing.T) {
	m := model.New(policy(t, ratelimit.TokenBucket{Capacity: 10, RefillTokens: 3, RefillPeriod: second}))
	_, state, _ := m.Step(model.State{}, 0, 10)
	admitted := 0
	for now := int64(100); now <= 10_000; now += 100 {
		var reply model.Reply
		if reply, state, _ = m.Step(state, now, 1); reply.Status == model.Allowed {
			admitted++
		}
	}
	if admitted != 30 {
		t.Errorf("got %d admitted in 10 s at 3 a second, want 30", admitted)
	}
}
