package limiter

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// LocalLimiter is a RateLimiter whose logs are in this process, in bounded memory.
// It counts for this process alone. It is safe for concurrent use; the zero
// LocalLimiter, and nil, answers ErrUnavailable.
type LocalLimiter struct {
	window time.Duration
	clock  func() int64
	seed   maphash.Seed
	shards []shard

	budgets [kinds]budget // of all shards together

	ages     bool // the clock is the default one, so logs are swept by a timer
	sweeping atomic.Bool
}

// LocalDualLimiter is a DualLayerLimiter over the logs of a LocalLimiter, which
// [LocalLimiter.Dual] makes: single and dual calls of a tenant count together, and
// one lock decides both layers. It is safe for concurrent use; the zero
// LocalDualLimiter, and nil, answers ErrUnavailable.
type LocalDualLimiter struct{ logs *LocalLimiter }

// NewLocalLimiter checks c, or returns one error that lists every violation.
func NewLocalLimiter(c LocalConfig) (*LocalLimiter, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	l := &LocalLimiter{window: c.Window, clock: c.Clock, seed: maphash.MakeSeed(), shards: make([]shard, c.Shards)}
	if l.clock == nil {
		l.clock, l.ages = steady(), true
	}
	l.budgets[tenants].set(c.MaxKeys, c.MaxCalls, c.Shards)
	l.budgets[members].set(c.MaxKeys, c.MaxCalls, c.Shards)
	l.budgets[addresses].set(c.MaxAddressKeys, c.MaxCalls, c.Shards)
	for i := range l.shards {
		for k := range l.budgets {
			l.shards[i].stores[k] = newStore(&l.budgets[k])
		}
	}
	return l, nil
}

// Dual is the limiter of two layers over l's logs.
func (l *LocalLimiter) Dual() *LocalDualLimiter { return &LocalDualLimiter{logs: l} }

// Allow implements [RateLimiter]. The error is ErrInvalid or, of a clock that
// steps, ErrClockUnsafe.
func (l *LocalLimiter) Allow(key string, limit int) (bool, int, error) {
	v, err := l.AllowContext(context.Background(), key, limit)
	return v.Allowed, v.Outer.Remaining, err
}

// AllowContext implements [ContextRateLimiter]. It never waits, so a context only
// matters if it has ended already: ErrUnavailable, and nothing is counted.
func (l *LocalLimiter) AllowContext(ctx context.Context, key string, limit int) (slidinglog.Verdict, error) {
	if err := slidinglog.Check(key, limit); err != nil {
		return slidinglog.Verdict{}, err
	}
	if err := l.ready(ctx); err != nil {
		return slidinglog.Verdict{}, err
	}
	v, err := l.shardOf(key).allow(l.window, l.clock, key, limit)
	if v.Allowed {
		l.settle()
	}
	return v, err
}

// AllowDual implements [DualLayerLimiter]. The error is ErrInvalid or, of a clock
// that steps, ErrClockUnsafe.
func (d *LocalDualLimiter) AllowDual(tenantKey string, tenantLimit int, userKey string, userLimit int) (allowed bool, tenantRemaining int, userRemaining int, err error) {
	v, err := d.AllowDualContext(context.Background(), tenantKey, tenantLimit, userKey, userLimit)
	return v.Allowed, v.Outer.Remaining, v.Inner.Remaining, err
}

// AllowDualContext implements [ContextDualLayerLimiter], with a context as in
// [LocalLimiter.AllowContext].
func (d *LocalDualLimiter) AllowDualContext(ctx context.Context, tenantKey string, tenantLimit int, userKey string, userLimit int) (slidinglog.Verdict, error) {
	if err := slidinglog.CheckDual(tenantKey, tenantLimit, userKey, userLimit); err != nil {
		return slidinglog.Verdict{}, err
	}
	var l *LocalLimiter
	if d != nil {
		l = d.logs
	}
	if err := l.ready(ctx); err != nil {
		return slidinglog.Verdict{}, err
	}
	v, err := l.shardOf(tenantKey).allowDual(l.window, l.clock, tenantKey, tenantLimit, userKey, userLimit)
	if v.Allowed {
		l.settle()
	}
	return v, err
}

func (l *LocalLimiter) ready(ctx context.Context) error {
	if l == nil || len(l.shards) == 0 {
		return fmt.Errorf("%w: the local limiter was not made by NewLocalLimiter", slidinglog.ErrUnavailable)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", slidinglog.ErrUnavailable, err)
	}
	return nil
}

// shardOf chooses by the tag, so that both keys of a dual call are in one shard.
// The seed is of this process: nobody can aim at a shard.
func (l *LocalLimiter) shardOf(key string) *shard {
	if tag, tagged := slidinglog.Tag(key); tagged {
		key = tag
	}
	return &l.shards[maphash.String(l.seed, key)%uint64(len(l.shards))]
}
