package model

import "github.com/edgelimit/edgelimit/shared-contract/ratelimit"

// tokenBucket counts thousandths of a token. rate thousandths come in every
// period; what a refill's division leaves is carried, so that the refill does
// not depend on how often it is evaluated.
type tokenBucket struct{ capacity, rate, periodMillis int64 }

func newTokenBucket(a ratelimit.TokenBucket) tokenBucket {
	tokens, period := a.Rate()
	return tokenBucket{
		capacity:     a.Capacity * ratelimit.TokenScale,
		rate:         tokens * ratelimit.TokenScale,
		periodMillis: period,
	}
}

func (r tokenBucket) valid(s State) bool {
	return s.ScaledTokens >= 0 && s.ScaledTokens <= r.capacity && s.Remainder >= 0 && s.Remainder < r.periodMillis &&
		s == State{Exists: true, ObservedMillis: s.ObservedMillis, ScaledTokens: s.ScaledTokens, Remainder: s.Remainder}
}

func (r tokenBucket) view(s State, effectiveMillis int64) view {
	if !s.Exists {
		return tokenBucketView{rules: r, effectiveMillis: effectiveMillis, tokens: r.capacity}
	}
	tokens, remainder := r.refill(s, effectiveMillis-s.ObservedMillis)
	return tokenBucketView{rules: r, effectiveMillis: effectiveMillis, tokens: tokens, remainder: remainder}
}

// refill adds (elapsed x rate + remainder) / period thousandths, by parts: the
// whole periods first, then the rest. A full bucket carries no remainder.
func (r tokenBucket) refill(s State, elapsedMillis int64) (tokens, remainder int64) {
	missing := r.capacity - s.ScaledTokens
	periods, rest := divide(elapsedMillis, r.periodMillis)
	if periods > missing/r.rate {
		return r.capacity, 0
	}
	missing -= periods * r.rate
	gained, remainder := divide(rest*r.rate+s.Remainder, r.periodMillis)
	if gained >= missing {
		return r.capacity, 0
	}
	return r.capacity - missing + gained, remainder
}

type tokenBucketView struct {
	rules             tokenBucket
	effectiveMillis   int64
	tokens, remainder int64
}

func (v tokenBucketView) remaining() int64       { return v.tokens / ratelimit.TokenScale }
func (v tokenBucketView) admits(cost int64) bool { return cost*ratelimit.TokenScale <= v.tokens }

func (v tokenBucketView) state() State {
	return State{ScaledTokens: v.tokens, Remainder: v.remainder}
}

func (v tokenBucketView) charge(cost int64) view {
	v.tokens -= cost * ratelimit.TokenScale
	return v
}

func (v tokenBucketView) resetAtMillis() int64 {
	return v.effectiveMillis + v.wait(v.rules.capacity-v.tokens)
}

func (v tokenBucketView) admittedAtMillis(cost int64) int64 {
	return v.effectiveMillis + v.wait(cost*ratelimit.TokenScale-v.tokens)
}

// wait is the time until deficit thousandths have come in:
// ceil((deficit x period - remainder) / rate), by parts.
func (v tokenBucketView) wait(deficit int64) int64 {
	if deficit == 0 {
		return 0
	}
	periods, rest := divide(deficit, v.rules.rate)
	wait := periods * v.rules.periodMillis
	if due := rest*v.rules.periodMillis - v.remainder; due >= 0 {
		return wait + divideUp(due, v.rules.rate)
	}
	return wait - (v.remainder-rest*v.rules.periodMillis)/v.rules.rate
}
