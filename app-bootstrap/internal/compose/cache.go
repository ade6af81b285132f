package compose

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	rediscache "github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/cache"
	"github.com/edgelimit/edgelimit/app-bootstrap/internal/config"
	"github.com/edgelimit/edgelimit/app-bootstrap/internal/limitsource"
	"github.com/edgelimit/edgelimit/app-bootstrap/internal/metrics"
	"github.com/edgelimit/edgelimit/shared-contract/cache"
	"github.com/edgelimit/edgelimit/shared-contract/cache/memory"
)

// What the cache is held to beside what is configured.
const (
	cacheBreakerFailures = 5
	cacheProbeEvery      = time.Second
	cacheEntries         = 10_000 // in memory, where no Redis is the cache
	cacheBytes           = 32 << 20
)

// newSource makes the source of limits before its cache, or nil where there is
// none. Its cache is the one of the replicas, or this process's own.
func (a *App) newSource(ctx context.Context, c config.Config, registry *prometheus.Registry) (*limitsource.Source, error) {
	source := c.InboundWeb.Source
	if source.URL == nil || c.InboundWeb.Mode == config.ModeOff {
		return nil, nil
	}
	counted := metrics.NewSource(registry)
	clock := steadyClock()
	port, err := a.newCache(ctx, c, counted, clock)
	if err != nil {
		return nil, err
	}
	a.source, err = limitsource.New(limitsource.Config{
		URL: source.URL, Token: source.Token.Reveal(), TTL: source.TTL, Timeout: source.Timeout,
		Cache: port, Clock: clock, Observer: counted.Question, Logger: a.logger,
	})
	if err != nil {
		return nil, fmt.Errorf("app.inbound-web.limits-source: %w", err)
	}
	return a.source, nil
}

func (a *App) newCache(ctx context.Context, whole config.Config, counted *metrics.Source, clock func() time.Duration) (cache.CachePort, error) {
	c := whole.Cache
	if !c.Enabled {
		return memory.New(memory.Config{MaxEntries: cacheEntries, MaxBytes: cacheBytes, Clock: clock})
	}
	opened, err := rediscache.Open(rediscache.Config{
		Addr: c.Address, TLS: tlsOf(c.TLS), Username: c.Username, Password: c.Password.Reveal(), Database: c.Database,
		DialTimeout: c.DialTimeout, CommandTimeout: c.CommandTimeout, MaxConnections: c.MaxConnections,
		KeyPrefix: c.KeyPrefix, Secret: c.Secret,
	})
	if err != nil {
		return nil, fmt.Errorf("app.cache.redis: %w", err)
	}
	a.cache = opened
	if err := a.apart(ctx, whole, opened); err != nil {
		return nil, err
	}
	return rediscache.NewFailOpen(opened, rediscache.FailOpenConfig{
		Failures: cacheBreakerFailures, ProbeEvery: cacheProbeEvery, OnFailure: counted.CacheFailed,
	})
}

// apart refuses a cache that turns out to be where a limiter counts, under another
// name. A server that is away, or does not tell its run id, is not told apart.
func (a *App) apart(ctx context.Context, c config.Config, opened *rediscache.Redis) error {
	asked, cancel := context.WithTimeout(ctx, c.Cache.DialTimeout+c.Cache.CommandTimeout)
	defer cancel()
	own := opened.RunID(asked)
	if own == "" {
		a.logger.Warn("the cache's Redis does not tell its run id, so that it may be a limiter's under another name", "endpoint", c.Cache.Redacted())
		return nil
	}
	if a.inbound != nil && a.inbound.Connection().Health().RunID == own {
		return fmt.Errorf("app.cache.redis.endpoint %s is the inbound-web limiter's server under another name: a cache needs a Redis of its own", c.Cache.Redacted())
	}
	if a.provider != nil && c.RateLimit.Redis.Database == c.Cache.Database && a.provider.Connection().Health().RunID == own {
		return fmt.Errorf("app.cache.redis.endpoint %s is the coordination Redis under another name: a cache needs a Redis of its own", c.Cache.Redacted())
	}
	return nil
}

// steadyClock is how long it has been running.
func steadyClock() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}
