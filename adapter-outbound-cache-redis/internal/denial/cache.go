// Package denial repeats exact denials without asking Redis again.
//
// The one rule that matters: a denial is repeated only while Redis, if its state
// and its clock go on undisturbed, could not admit the same cost. Other traffic
// makes an admission later and never sooner, so what a denial says of the time
// until then is a promise.
package denial

import (
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// The bounds of a cache.
const (
	MostEntries = 1_000_000
	LongestAge  = 10 * time.Second
)

// Key is one question. A denial answers the very same question alone.
type Key struct {
	PolicyID      string
	Revision      int64
	SubjectDigest string
	Cost          int64
}

// Cache holds denials, in bounded memory. It is safe for concurrent use. A nil
// Cache holds none.
type Cache struct {
	maxAge time.Duration
	clock  func() time.Duration
	seed   maphash.Seed
	shards []shard
}

// New makes a Cache of at most maxEntries denials, each of which lives at most
// maxAge. The clock must never step back; nil is the process's own. The error lists
// every violation of the bounds.
func New(maxEntries int, maxAge time.Duration, clock func() time.Duration) (*Cache, error) {
	var errs []error
	if maxEntries < 1 || maxEntries > MostEntries {
		errs = append(errs, fmt.Errorf("denial cache: %d entries is outside 1 to %d", maxEntries, MostEntries))
	}
	if maxAge < time.Millisecond || maxAge > LongestAge {
		errs = append(errs, fmt.Errorf("denial cache: age %v is outside 1ms to %v", maxAge, LongestAge))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if clock == nil {
		clock = steady()
	}
	return &Cache{maxAge: maxAge, clock: clock, seed: maphash.MakeSeed(), shards: shardsFor(maxEntries)}, nil
}

// steady is a clock that never steps.
func steady() func() time.Duration {
	start := time.Now() // with its monotonic reading
	return func() time.Duration { return time.Since(start) }
}

// Now is the cache's clock, by which Store is told when. It is 0 for a nil Cache.
func (c *Cache) Now() time.Duration {
	if c == nil {
		return 0
	}
	return c.clock()
}

// Lookup is the denial that answers k now: as observed, but for its source and for
// the time until a retry, which is counted down.
func (c *Cache) Lookup(k Key) (ratelimit.Decision, bool) {
	if c == nil {
		return ratelimit.Decision{}, false
	}
	return c.shardOf(k).lookup(k, c.clock)
}

// Store keeps d, which Redis answered to k: the question was sent at the one time,
// or later, and the answer received at the other, or sooner. An allowed decision is
// never kept.
//
// Only the caller can know whether the clock was clamped for d. Then its
// RetryAfter is not exact, and it must not be stored.
func (c *Cache) Store(k Key, d ratelimit.Decision, sent, received time.Duration) {
	if c == nil || d.Allowed {
		return
	}
	end := sent + min(surely(d.RetryAfter), c.maxAge)
	if end <= received {
		return
	}
	k.SubjectDigest = strings.Clone(k.SubjectDigest) // not all of what it is a part of
	d.Source = ratelimit.LocalDenialCache
	c.shardOf(k).store(entry{key: k, observed: d, received: received, end: end})
}

// surely is how long after the question was sent Redis cannot admit it. RetryAfter
// counts from the server's whole millisecond, of which almost all may have been
// over when it decided.
func surely(retryAfter time.Duration) time.Duration { return retryAfter - time.Millisecond }

// shardOf chooses by the subject. The seed is of this process: nobody can aim at a
// shard.
func (c *Cache) shardOf(k Key) *shard {
	return &c.shards[maphash.String(c.seed, k.SubjectDigest)%uint64(len(c.shards))]
}
