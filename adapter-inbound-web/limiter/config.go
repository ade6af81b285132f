package limiter

import (
	"errors"
	"fmt"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// The defaults of [LocalConfig].
const (
	DefaultWindow         = time.Minute
	DefaultShards         = 32
	DefaultMaxKeys        = 100_000
	DefaultMaxAddressKeys = 100_000
	DefaultMaxCalls       = 8 << 20 // 64 MiB
)

// MaxShards is the most shards.
const MaxShards = 1 << 12

// minShardKeys is the least room of a shard: what one dual call uses.
const minShardKeys = 2

// LocalConfig is what a [LocalLimiter] is made of. The zero value of each field is
// its default.
type LocalConfig struct {
	// Window is how long a call counts: whole microseconds, 1 ms to 366 days;
	// DefaultWindow.
	Window time.Duration

	// Clock says what time it is, in microseconds since any instant. It must be
	// safe for concurrent use. The default never steps, whatever happens to the
	// wall clock. With a clock of one's own nothing is dropped for its age until
	// Sweep is called.
	Clock func() int64

	// Shards are locked apart, and all keys of a tenant are in one. Each has an
	// equal part of the bounds below for certain, and what the others leave of
	// theirs; DefaultShards, or fewer for small bounds.
	Shards int

	// MaxKeys bounds the keys of tenants, and likewise those of users and key
	// ids. A key of its kind that was not asked for for long makes room, and
	// begins afresh if it is asked for again; DefaultMaxKeys, each some 300
	// bytes and its log.
	MaxKeys int

	// MaxAddressKeys bounds the keys of addresses in the same way, apart from
	// the others; DefaultMaxAddressKeys.
	MaxAddressKeys int

	// MaxCalls bounds what the logs of one kind of key together have memory for,
	// 8 bytes a call. The two logs that a shard used last stay whatever they
	// hold; DefaultMaxCalls.
	MaxCalls int
}

// complete is c with its defaults, or one error that lists every violation.
func (c LocalConfig) complete() (LocalConfig, error) {
	c.Window = orDefault(c.Window, DefaultWindow)
	c.MaxKeys = orDefault(c.MaxKeys, DefaultMaxKeys)
	c.MaxAddressKeys = orDefault(c.MaxAddressKeys, DefaultMaxAddressKeys)
	c.MaxCalls = orDefault(c.MaxCalls, DefaultMaxCalls)
	fewest := min(c.MaxKeys, c.MaxAddressKeys)
	c.Shards = orDefault(c.Shards, min(DefaultShards, max(fewest/256, 1)))

	var errs []error
	if c.Window < time.Millisecond || c.Window > ratelimit.MaxSpan || c.Window%time.Microsecond != 0 {
		errs = append(errs, fmt.Errorf("local limiter: window %v must be whole microseconds, 1ms to %v", c.Window, ratelimit.MaxSpan))
	}
	if c.Shards < 1 || c.Shards > MaxShards {
		errs = append(errs, fmt.Errorf("local limiter: %d shards is outside 1 to %d", c.Shards, MaxShards))
	} else if fewest < c.Shards*minShardKeys {
		errs = append(errs, fmt.Errorf("local limiter: %d keys are too few for %d shards, which need %d each", fewest, c.Shards, minShardKeys))
	}
	if c.MaxCalls < c.Shards {
		errs = append(errs, fmt.Errorf("local limiter: %d calls are too few for %d shards", c.MaxCalls, c.Shards))
	}
	return c, errors.Join(errs...)
}

func orDefault[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// steady is a clock of microseconds that never steps.
func steady() func() int64 {
	start := time.Now() // with its monotonic reading
	return func() int64 { return time.Since(start).Microseconds() }
}
