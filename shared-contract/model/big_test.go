package model_test

import (
	"math/big"

	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// bigReading is a second reading of the rules, of arbitrary precision. It shares
// no formula with the model: a bucket holds a rational number of tokens, and the
// instants of the counter are found by searching for them with its admission
// rule alone.
type bigReading struct {
	policy ratelimit.Policy
	rules  bigRules
}

// bigRules is one algorithm, without a clock of its own.
type bigRules interface {
	valid(s model.State) bool
	// free is what may still be charged at an instant that is not before s was
	// observed; it may be negative.
	free(s model.State, at *big.Int) *big.Int
	charge(s model.State, at *big.Int, cost int64) model.State
	// freeAt is the first instant, not before at, with at least cost free.
	freeAt(s model.State, at *big.Int, cost int64) *big.Int
}

func newBigReading(p ratelimit.Policy) bigReading {
	return bigReading{policy: p, rules: ratelimit.MatchAlgorithm(p.Algorithm(),
		func(a ratelimit.FixedWindow) bigRules {
			return bigFixedWindow{integer(a.Limit), integer(a.Window.Milliseconds())}
		},
		func(a ratelimit.SlidingWindowCounter) bigRules {
			return bigCounter{integer(a.Limit), integer(a.Window.Milliseconds())}
		},
		func(a ratelimit.TokenBucket) bigRules { return newBigBucket(a) })}
}

// step is what model.Model.Step answers.
func (r bigReading) step(s model.State, serverNowMillis, cost int64) (model.Reply, model.State, int64) {
	limit := r.policy.Limit()
	reply := model.Reply{ServerNowMillis: serverNowMillis, EffectiveNowMillis: serverNowMillis}
	if serverNowMillis < 0 || serverNowMillis > 1<<53-1 || cost < 1 || cost > limit {
		reply.Status = model.Invalid
		return reply, s, 0
	}
	if s.Exists && (!within(s.ObservedMillis, 1<<53-1) || !r.rules.valid(s)) {
		reply.Status = model.StateIncompatible
		return reply, s, 0
	}
	reply.Limit = limit
	now, regression := integer(serverNowMillis), integer(r.policy.MaxClockRegression().Milliseconds())
	if s.Exists && s.ObservedMillis > serverNowMillis {
		reply.EffectiveNowMillis = s.ObservedMillis
		safe := minus(integer(s.ObservedMillis), regression)
		if safe.Cmp(now) > 0 {
			reply.Status = model.ClockUnsafe
			reply.RetryAfterMillis, reply.ResetAtMillis = minus(safe, now).Int64(), safe.Int64()
			return reply, s, 0
		}
	}
	at := integer(reply.EffectiveNowMillis)
	free := r.rules.free(s, at)
	if free.Cmp(integer(cost)) < 0 {
		reply.Status = model.Denied
		reply.Remaining = max(0, free.Int64())
		reply.RetryAfterMillis = minus(r.rules.freeAt(s, at, cost), now).Int64()
		reply.ResetAtMillis = r.rules.freeAt(s, at, limit).Int64()
		return reply, s, 0
	}
	after := r.rules.charge(s, at, cost)
	after.Exists, after.ObservedMillis = true, reply.EffectiveNowMillis
	reply.Status = model.Allowed
	reply.Remaining = max(0, r.rules.free(after, at).Int64())
	reset := r.rules.freeAt(after, at, limit)
	reply.ResetAtMillis = reset.Int64()
	ttl := plus(minus(reset, now), integer(r.policy.CleanupGrace().Milliseconds()))
	return reply, after, ttl.Int64()
}

type bigFixedWindow struct{ limit, window *big.Int }

func (r bigFixedWindow) valid(s model.State) bool { return within(s.Consumed, r.limit.Int64()) }

func (r bigFixedWindow) consumed(s model.State, at *big.Int) *big.Int {
	if !s.Exists || floor(integer(s.ObservedMillis), r.window).Cmp(floor(at, r.window)) != 0 {
		return integer(0)
	}
	return integer(s.Consumed)
}

func (r bigFixedWindow) free(s model.State, at *big.Int) *big.Int {
	return minus(r.limit, r.consumed(s, at))
}

func (r bigFixedWindow) charge(s model.State, at *big.Int, cost int64) model.State {
	return model.State{Consumed: plus(r.consumed(s, at), integer(cost)).Int64()}
}

func (r bigFixedWindow) freeAt(s model.State, at *big.Int, cost int64) *big.Int {
	next := times(plus(floor(at, r.window), integer(1)), r.window)
	return firstInstant(at, next, func(at *big.Int) bool { return r.free(s, at).Cmp(integer(cost)) >= 0 })
}

type bigCounter struct{ limit, window *big.Int }

func (r bigCounter) valid(s model.State) bool {
	return within(s.Previous, r.limit.Int64()) && within(s.Current, r.limit.Int64())
}

func (r bigCounter) counts(s model.State, at *big.Int) (previous, current *big.Int) {
	if !s.Exists {
		return integer(0), integer(0)
	}
	switch minus(floor(at, r.window), floor(integer(s.ObservedMillis), r.window)).Int64() {
	case 0:
		return integer(s.Previous), integer(s.Current)
	case 1:
		return integer(s.Current), integer(0)
	default:
		return integer(0), integer(0)
	}
}

func (r bigCounter) free(s model.State, at *big.Int) *big.Int {
	previous, current := r.counts(s, at)
	scale := integer(1_000_000)
	elapsed := minus(at, times(floor(at, r.window), r.window))
	weight := ceiling(times(minus(r.window, elapsed), scale), r.window)
	used := plus(ceiling(times(previous, weight), scale), current)
	return minus(r.limit, used)
}

func (r bigCounter) charge(s model.State, at *big.Int, cost int64) model.State {
	previous, current := r.counts(s, at)
	return model.State{Previous: previous.Int64(), Current: plus(current, integer(cost)).Int64()}
}

func (r bigCounter) freeAt(s model.State, at *big.Int, cost int64) *big.Int {
	afterNext := times(plus(floor(at, r.window), integer(2)), r.window)
	return firstInstant(at, afterNext, func(at *big.Int) bool { return r.free(s, at).Cmp(integer(cost)) >= 0 })
}

// bigBucket is exact: its level is a rational number of thousandths of a token,
// and gain is what comes in each millisecond.
type bigBucket struct {
	capacity *big.Rat
	gain     *big.Rat
	period   *big.Int // the denominator that a state's remainder counts in
}

func newBigBucket(a ratelimit.TokenBucket) bigBucket {
	gain := big.NewRat(a.RefillTokens, a.RefillPeriod.Milliseconds()) // reduced by big.Rat
	return bigBucket{
		capacity: new(big.Rat).SetInt(times(integer(a.Capacity), integer(1000))),
		gain:     new(big.Rat).Mul(gain, big.NewRat(1000, 1)),
		period:   new(big.Int).Set(gain.Denom()),
	}
}

func (r bigBucket) valid(s model.State) bool {
	return within(s.ScaledTokens, r.capacity.Num().Int64()) && within(s.Remainder, r.period.Int64()-1)
}

func (r bigBucket) level(s model.State, at *big.Int) *big.Rat {
	if !s.Exists {
		return r.capacity
	}
	elapsed := new(big.Rat).SetInt(minus(at, integer(s.ObservedMillis)))
	level := new(big.Rat).Mul(elapsed, r.gain)
	level.Add(level, new(big.Rat).SetFrac(integer(s.Remainder), r.period))
	level.Add(level, new(big.Rat).SetInt64(s.ScaledTokens))
	if level.Cmp(r.capacity) > 0 {
		return r.capacity
	}
	return level
}

func (r bigBucket) free(s model.State, at *big.Int) *big.Int {
	level := new(big.Rat).Quo(r.level(s, at), big.NewRat(1000, 1))
	return floor(level.Num(), level.Denom())
}

func (r bigBucket) charge(s model.State, at *big.Int, cost int64) model.State {
	level := new(big.Rat).Sub(r.level(s, at), new(big.Rat).SetInt(times(integer(cost), integer(1000))))
	whole := floor(level.Num(), level.Denom())
	part := new(big.Rat).Sub(level, new(big.Rat).SetInt(whole))
	part.Mul(part, new(big.Rat).SetInt(r.period))
	if !part.IsInt() {
		panic("a bucket's level is no multiple of 1/period")
	}
	return model.State{ScaledTokens: whole.Int64(), Remainder: part.Num().Int64()}
}

func (r bigBucket) freeAt(s model.State, at *big.Int, cost int64) *big.Int {
	missing := new(big.Rat).SetInt(times(integer(cost), integer(1000)))
	missing.Sub(missing, r.level(s, at))
	if missing.Sign() <= 0 {
		return at
	}
	wait := missing.Quo(missing, r.gain)
	return plus(at, ceiling(wait.Num(), wait.Denom()))
}

// firstInstant is the first in [low, high] that holds; high does, and whatever
// follows one that does.
func firstInstant(low, high *big.Int, holds func(*big.Int) bool) *big.Int {
	for low.Cmp(high) < 0 {
		middle := floor(plus(low, high), integer(2))
		if holds(middle) {
			high = middle
		} else {
			low = plus(middle, integer(1))
		}
	}
	return low
}

func integer(n int64) *big.Int        { return big.NewInt(n) }
func plus(a, b *big.Int) *big.Int     { return new(big.Int).Add(a, b) }
func minus(a, b *big.Int) *big.Int    { return new(big.Int).Sub(a, b) }
func times(a, b *big.Int) *big.Int    { return new(big.Int).Mul(a, b) }
func floor(a, b *big.Int) *big.Int    { return new(big.Int).Div(a, b) } // b is above 0
func ceiling(a, b *big.Int) *big.Int  { return minus(integer(0), floor(minus(integer(0), a), b)) }
func within(n int64, most int64) bool { return n >= 0 && n <= most }
