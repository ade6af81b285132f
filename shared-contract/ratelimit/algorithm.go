package ratelimit

import (
	"fmt"
	"math/bits"
	"time"
)

// MaxSafeInteger is 2^53-1, the largest integer that every participant (Lua's
// numbers are IEEE doubles) represents exactly. No number of this package, and
// no product that an algorithm forms of them, exceeds it.
const MaxSafeInteger int64 = 1<<53 - 1

// Fixed-point scales of the algorithms.
const (
	// CounterScale is the resolution of the sliding-window counter's weight.
	CounterScale int64 = 1_000_000
	// TokenScale is the resolution of the token bucket: thousandths of a token.
	TokenScale int64 = 1_000
)

// MaxSpan is the longest window, period, grace or regression, and the largest
// duration that is shown to a client.
const MaxSpan = 366 * 24 * time.Hour

// AlgorithmName is an algorithm's name in configuration, keys and state.
type AlgorithmName string

// The algorithms.
const (
	NameFixedWindow          AlgorithmName = "fixed-window"
	NameSlidingWindowCounter AlgorithmName = "sliding-window-counter"
	NameTokenBucket          AlgorithmName = "token-bucket"
)

// Algorithm is one of [FixedWindow], [SlidingWindowCounter] and [TokenBucket].
// The set is closed; nil and anything else is refused by [NewPolicy].
type Algorithm interface {
	// Name is the algorithm's name in configuration, keys and state.
	Name() AlgorithmName
	limit() int64
	violations() []error
}

// FixedWindow admits Limit units in each window aligned to the Redis clock. Two
// adjacent windows can admit up to twice Limit within one window's length.
type FixedWindow struct {
	Limit  int64         // units per window, 1 to MaxSafeInteger
	Window time.Duration // whole milliseconds, at most MaxSpan
}

// SlidingWindowCounter estimates a sliding window from two aligned counts, the
// previous one weighted by its overlap and rounded up. The estimate never
// exceeds Limit; the worst interval of one window's length admits up to
// 2 x Limit - 1.
type SlidingWindowCounter struct {
	Limit  int64         // units per window, 1 to MaxSafeInteger / CounterScale
	Window time.Duration // whole milliseconds, at most MaxSafeInteger / CounterScale of them
}

// TokenBucket admits from a bucket of Capacity tokens that refills continuously
// by RefillTokens every RefillPeriod. A missing bucket is full.
type TokenBucket struct {
	Capacity     int64         // tokens, 1 to MaxSafeInteger / TokenScale
	RefillTokens int64         // tokens per RefillPeriod, 1 to MaxSafeInteger
	RefillPeriod time.Duration // whole milliseconds, at most MaxSpan
}

// MatchAlgorithm calls the function of a's algorithm. It panics on nil, which
// no Policy holds.
func MatchAlgorithm[T any](a Algorithm, fixedWindow func(FixedWindow) T,
	slidingWindowCounter func(SlidingWindowCounter) T, tokenBucket func(TokenBucket) T) T {
	switch a := a.(type) {
	case FixedWindow:
		return fixedWindow(a)
	case SlidingWindowCounter:
		return slidingWindowCounter(a)
	case TokenBucket:
		return tokenBucket(a)
	default:
		panic(fmt.Sprintf("ratelimit: %T is no algorithm", a))
	}
}

// Name implements [Algorithm].
func (FixedWindow) Name() AlgorithmName { return NameFixedWindow }

// Name implements [Algorithm].
func (SlidingWindowCounter) Name() AlgorithmName { return NameSlidingWindowCounter }

// Name implements [Algorithm].
func (TokenBucket) Name() AlgorithmName { return NameTokenBucket }

func (a FixedWindow) limit() int64          { return a.Limit }
func (a SlidingWindowCounter) limit() int64 { return a.Limit }
func (a TokenBucket) limit() int64          { return a.Capacity }

func (a FixedWindow) violations() []error {
	return nonNil(
		checkRange("limit", a.Limit, 1, MaxSafeInteger),
		checkSpan("window", a.Window, time.Millisecond),
	)
}

func (a SlidingWindowCounter) violations() []error {
	errs := nonNil(
		checkRange("limit", a.Limit, 1, MaxSafeInteger/CounterScale),
		checkSpan("window", a.Window, time.Millisecond),
	)
	if most := MaxSafeInteger / CounterScale; a.Window.Milliseconds() > most {
		errs = append(errs, fmt.Errorf("window %v is above %v, the most that exact arithmetic allows this algorithm",
			a.Window, time.Duration(most)*time.Millisecond))
	}
	return errs
}

func (a TokenBucket) violations() []error {
	capacity := nonNil(checkRange("capacity", a.Capacity, 1, MaxSafeInteger/TokenScale))
	refill := nonNil(
		checkRange("refill tokens", a.RefillTokens, 1, MaxSafeInteger),
		checkSpan("refill period", a.RefillPeriod, time.Millisecond),
	)
	errs := append(capacity, refill...)
	if len(refill) > 0 {
		return errs
	}
	tokens, period := a.Rate()
	if tokens*TokenScale > MaxSafeInteger/period-1 {
		errs = append(errs, fmt.Errorf("refill of %d tokens per %v leaves exact arithmetic: (tokens x %d + 1) x period in milliseconds, reduced, must be at most 2^53-1",
			a.RefillTokens, a.RefillPeriod, TokenScale))
	}
	if len(capacity) == 0 && longerThan(a.Capacity, tokens, period, MaxSpan.Milliseconds()) {
		errs = append(errs, fmt.Errorf("filling %d tokens at %d per %v takes more than 366 days",
			a.Capacity, a.RefillTokens, a.RefillPeriod))
	}
	return errs
}

// Rate is the refill as a reduced fraction: tokens per periodMillis.
func (a TokenBucket) Rate() (tokens, periodMillis int64) {
	tokens, periodMillis = a.RefillTokens, a.RefillPeriod.Milliseconds()
	g, r := tokens, periodMillis
	for r != 0 {
		g, r = r, g%r
	}
	if g == 0 {
		return 0, 0
	}
	return tokens / g, periodMillis / g
}

// longerThan tells whether capacity x period / tokens exceeds bound, in 128 bits.
func longerThan(capacity, tokens, period, bound int64) bool {
	needHigh, needLow := bits.Mul64(uint64(capacity), uint64(period))
	haveHigh, haveLow := bits.Mul64(uint64(bound), uint64(tokens))
	return needHigh > haveHigh || needHigh == haveHigh && needLow > haveLow
}

func checkRange(name string, value, low, high int64) error {
	if value < low || value > high {
		return fmt.Errorf("%s %d is outside %d to %d", name, value, low, high)
	}
	return nil
}

func checkSpan(name string, d, low time.Duration) error {
	switch {
	case d < low || d > MaxSpan:
		return fmt.Errorf("%s %v is outside %v to 366 days", name, d, low)
	case d%time.Millisecond != 0:
		return fmt.Errorf("%s %v is not a whole number of milliseconds", name, d)
	}
	return nil
}

func nonNil(errs ...error) []error {
	kept := errs[:0]
	for _, err := range errs {
		if err != nil {
			kept = append(kept, err)
		}
	}
	return kept
}
