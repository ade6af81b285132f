package duallog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// MaxLimit is the largest limit of a layer: a log holds one member a counted call.
const MaxLimit = 100_000

// Config is what a RedisLimiter needs.
type Config struct {
	// Redis is the server or the cluster. Its command timeout is the whole of a call, from entry:
	// waiting, dialling and the command share it. Its admission wait is not used.
	Redis coordination.Config

	// Window is how long a call counts: whole microseconds, above 0, at most 366
	// days.
	Window time.Duration
}

// RedisLimiter is the limiter of one layer. It is safe for concurrent use.
type RedisLimiter struct {
	dispatcher   dispatcher
	connection   coordination.Endpoint
	single, dual program.Program
	window       string
	// more are arguments that a test's program takes beside.
	more func() []string
}

// dispatcher carries one call to Redis, at most once, and says how far it got.
type dispatcher interface {
	Dispatch(ctx context.Context, call coordination.Call) certainty.Result
}

// Open makes a limiter and starts its connection, which it owns. It returns an
// error for a config that cannot work, never because Redis is away. Close it when
// done.
func Open(c Config) (*RedisLimiter, error) {
	if c.Window < time.Microsecond || c.Window > maxWindow || c.Window%time.Microsecond != 0 {
		return nil, fmt.Errorf("duallog: window %v must be whole microseconds, above 0, at most 366 days", c.Window)
	}
	c.Redis.OneBudget, c.Redis.EveryFailure = true, true
	connection, err := coordination.Connect(c.Redis, probeAt)
	if err != nil {
		return nil, fmt.Errorf("duallog: %w", err)
	}
	return &RedisLimiter{
		dispatcher: connection, connection: connection,
		single: program.SlidingLog, dual: program.SlidingLogDual,
		window: strconv.FormatInt(c.Window.Microseconds(), 10),
		more:   func() []string { return nil },
	}, nil
}

const maxWindow = 366 * 24 * time.Hour

// Dual is the limiter of two layers over the same logs: calls of a tenant count
// together, whichever limiter makes them.
func (l *RedisLimiter) Dual() *RedisDualLimiter { return &RedisDualLimiter{limiter: l} }

// Connection is the limiter's connection, to a server or a cluster, for health and
// figures.
func (l *RedisLimiter) Connection() coordination.Endpoint { return l.connection }

// Close ends the connection; later calls are ErrUnavailable.
func (l *RedisLimiter) Close() error { return l.connection.Close() }

// Allow counts a call of key if fewer than limit calls of it count: allowed,
// remaining, error. The error is one of package slidinglog.
func (l *RedisLimiter) Allow(key string, limit int) (bool, int, error) {
	v, err := l.AllowContext(context.Background(), key, limit)
	return v.Allowed, v.Outer.Remaining, err
}

// AllowContext is Allow with a ctx, which may shorten the call and needs no
// deadline.
func (l *RedisLimiter) AllowContext(ctx context.Context, key string, limit int) (slidinglog.Verdict, error) {
	if err := slidinglog.Check(key, limit); err != nil {
		return slidinglog.Verdict{}, err
	}
	return l.call(ctx, l.single, [2]string{key}, limit)
}

// RedisDualLimiter is the limiter of two layers. It is safe for concurrent use and
// ends with the RedisLimiter that it comes from.
type RedisDualLimiter struct{ limiter *RedisLimiter }

// AllowDual counts a call of a tenant and of one of its users or keys, by both if
// both have room, else by neither. The error is one of package slidinglog.
func (d *RedisDualLimiter) AllowDual(tenantKey string, tenantLimit int, userKey string, userLimit int) (allowed bool, tenantRemaining int, userRemaining int, err error) {
	v, err := d.AllowDualContext(context.Background(), tenantKey, tenantLimit, userKey, userLimit)
	return v.Allowed, v.Outer.Remaining, v.Inner.Remaining, err
}

// AllowDualContext is AllowDual with a ctx, which may shorten the call and needs
// no deadline.
func (d *RedisDualLimiter) AllowDualContext(ctx context.Context, tenantKey string, tenantLimit int, userKey string, userLimit int) (slidinglog.Verdict, error) {
	if err := slidinglog.CheckDual(tenantKey, tenantLimit, userKey, userLimit); err != nil {
		return slidinglog.Verdict{}, err
	}
	return d.limiter.call(ctx, d.limiter.dual, [2]string{tenantKey, userKey}, tenantLimit, userLimit)
}

// call dispatches p once. A caller who has gone before is told so.
func (l *RedisLimiter) call(ctx context.Context, p program.Program, keys [2]string, limits ...int) (slidinglog.Verdict, error) {
	args := append(make([]string, 0, 4), l.window)
	for _, limit := range limits {
		if limit > MaxLimit {
			return slidinglog.Verdict{}, fmt.Errorf("%w: the limit %d is above %d", slidinglog.ErrInvalid, limit, MaxLimit)
		}
		args = append(args, strconv.Itoa(limit))
	}
	result := l.dispatcher.Dispatch(ctx, coordination.Call{Program: p, Keys: keys, Args: append(args, l.more()...)})
	v, err := verdictOf(result, limits)
	if err != nil && ctx.Err() != nil {
		err = errors.Join(err, ctx.Err())
	}
	return v, err
}
