package contracttest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// policy makes the n-th policy of the walk: every fifth at its bounds.
func (w *Walk) policy(n int) ratelimit.Policy {
	maker := policyMakers[w.algorithm]
	algorithm, spans := maker.common(w.random), []time.Duration{
		0, time.Duration(w.random.Int64N(5000)) * time.Millisecond, time.Millisecond,
	}
	if n%5 == 0 {
		algorithm, spans = maker.atBounds[(n/5)%len(maker.atBounds)], []time.Duration{0, ratelimit.MaxSpan}
	}
	p, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: fmt.Sprintf("walk-%d", n), Revision: 1 + w.random.Int64N(9),
		Algorithm: algorithm, MaxCost: limitOf(algorithm),
		CleanupGrace:       spans[w.random.IntN(len(spans))],
		MaxClockRegression: spans[w.random.IntN(len(spans))],
		FailureMode:        ratelimit.FailClosed,
	})
	if err != nil {
		panic(err) // the makers stay within the bounds
	}
	return p
}

func limitOf(a ratelimit.Algorithm) int64 {
	return ratelimit.MatchAlgorithm(a,
		func(a ratelimit.FixedWindow) int64 { return a.Limit },
		func(a ratelimit.SlidingWindowCounter) int64 { return a.Limit },
		func(a ratelimit.TokenBucket) int64 { return a.Capacity })
}

// policyMaker makes the parameters of one algorithm.
type policyMaker struct {
	common   func(*rand.Rand) ratelimit.Algorithm
	atBounds []ratelimit.Algorithm
}

const (
	largestLimit    = ratelimit.MaxSafeInteger
	largestCounter  = ratelimit.MaxSafeInteger / ratelimit.CounterScale
	largestCapacity = ratelimit.MaxSafeInteger / ratelimit.TokenScale
	longestCounter  = time.Duration(largestCounter) * time.Millisecond
)

var policyMakers = map[ratelimit.AlgorithmName]*policyMaker{
	ratelimit.NameFixedWindow: {
		common: func(r *rand.Rand) ratelimit.Algorithm {
			return ratelimit.FixedWindow{Limit: spread(r, largestLimit), Window: spreadSpan(r, ratelimit.MaxSpan)}
		},
		atBounds: []ratelimit.Algorithm{
			ratelimit.FixedWindow{Limit: 1, Window: time.Millisecond},
			ratelimit.FixedWindow{Limit: largestLimit, Window: time.Millisecond},
			ratelimit.FixedWindow{Limit: 1, Window: ratelimit.MaxSpan},
			ratelimit.FixedWindow{Limit: largestLimit, Window: ratelimit.MaxSpan},
			ratelimit.FixedWindow{Limit: 10, Window: ratelimit.MaxSpan},
			ratelimit.FixedWindow{Limit: largestLimit, Window: time.Minute},
		},
	},
	ratelimit.NameSlidingWindowCounter: {
		common: func(r *rand.Rand) ratelimit.Algorithm {
			return ratelimit.SlidingWindowCounter{Limit: spread(r, largestCounter), Window: spreadSpan(r, longestCounter)}
		},
		atBounds: []ratelimit.Algorithm{
			ratelimit.SlidingWindowCounter{Limit: 1, Window: time.Millisecond},
			ratelimit.SlidingWindowCounter{Limit: largestCounter, Window: time.Millisecond},
			ratelimit.SlidingWindowCounter{Limit: 1, Window: longestCounter},
			ratelimit.SlidingWindowCounter{Limit: largestCounter, Window: longestCounter},
			ratelimit.SlidingWindowCounter{Limit: 10, Window: longestCounter},
			ratelimit.SlidingWindowCounter{Limit: largestCounter, Window: time.Minute},
		},
	},
	ratelimit.NameTokenBucket: {
		common: commonTokenBucket,
		atBounds: []ratelimit.Algorithm{
			ratelimit.TokenBucket{Capacity: 1, RefillTokens: 1, RefillPeriod: time.Millisecond},
			ratelimit.TokenBucket{Capacity: 1, RefillTokens: 1, RefillPeriod: ratelimit.MaxSpan},
			ratelimit.TokenBucket{Capacity: 366, RefillTokens: 1, RefillPeriod: 24 * time.Hour},
			ratelimit.TokenBucket{Capacity: largestCapacity, RefillTokens: largestCapacity, RefillPeriod: time.Millisecond},
			ratelimit.TokenBucket{Capacity: largestCapacity, RefillTokens: 285, RefillPeriod: time.Millisecond},
			mostRefill(24*time.Hour - time.Millisecond),
			mostRefill(ratelimit.MaxSpan - time.Millisecond),
			mostRefill(999_983 * time.Millisecond),
		},
	},
}

// mostRefill is the token bucket with the largest refill that exact arithmetic
// allows for a period that no refill reduces, and with the largest capacity that
// this refill fills within MaxSpan.
func mostRefill(period time.Duration) ratelimit.TokenBucket {
	millis := period.Milliseconds()
	refill := (ratelimit.MaxSafeInteger/millis - 1) / ratelimit.TokenScale
	return ratelimit.TokenBucket{
		Capacity:     min(largestCapacity, ratelimit.MaxSpan.Milliseconds()*refill/millis),
		RefillTokens: refill, RefillPeriod: period,
	}
}

// commonTokenBucket draws until the parameters go together.
func commonTokenBucket(r *rand.Rand) ratelimit.Algorithm {
	for {
		b := ratelimit.TokenBucket{
			Capacity:     spread(r, largestCapacity),
			RefillTokens: spread(r, largestCapacity),
			RefillPeriod: spreadSpan(r, ratelimit.MaxSpan),
		}
		if legal(b) {
			return b
		}
	}
}

func legal(a ratelimit.Algorithm) bool {
	_, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: "legal", Revision: 1, Algorithm: a, MaxCost: 1, FailureMode: ratelimit.FailClosed,
	})
	return err == nil
}

// spread draws from 1 to most, the small as often as the large: mostly what
// people configure, sometimes of any magnitude.
func spread(r *rand.Rand, most int64) int64 {
	switch n := r.IntN(10); {
	case n < 5:
		return min(most, 1+r.Int64N(20))
	case n < 8:
		return min(most, 1+r.Int64N(1000))
	default:
		return min(most, int64(math.Exp(r.Float64()*math.Log(float64(most)))))
	}
}

func spreadSpan(r *rand.Rand, most time.Duration) time.Duration {
	switch n := r.IntN(10); {
	case n < 2:
		return time.Duration(1+r.Int64N(20)) * time.Millisecond
	case n < 5:
		return []time.Duration{time.Second, 997 * time.Millisecond, time.Minute, time.Hour}[r.IntN(4)]
	default:
		return time.Duration(spread(r, most.Milliseconds())) * time.Millisecond
	}
}
