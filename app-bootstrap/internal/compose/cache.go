package compose

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	rediscache "github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/cache"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
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
	compareEvery         = 2 * time.Second // servers that were away at start
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
	port, err := a.newCache(ctx, c, registry, counted, clock)
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

func (a *App) newCache(ctx context.Context, whole config.Config, registry *prometheus.Registry, counted *metrics.Source, clock func() time.Duration) (cache.CachePort, error) {
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
	if err := a.apart(ctx, whole); err != nil {
		return nil, err
	}
	failing, err := rediscache.NewFailOpen(opened, rediscache.FailOpenConfig{
		Failures: cacheBreakerFailures, ProbeEvery: cacheProbeEvery, OnFailure: counted.CacheFailed, Logger: a.logger,
	})
	if err != nil {
		return nil, fmt.Errorf("app.cache.redis: %w", err)
	}
	metrics.ObserveCache(registry, failing)
	return failing, nil
}

// apart refuses a cache that turns out to be where a limiter counts, under another
// name. What cannot be compared now is compared while the app runs.
func (a *App) apart(ctx context.Context, c config.Config) error {
	compare := func(ctx context.Context) (bool, error) { return a.compare(ctx, c) }
	done, err := compare(ctx)
	if err == nil && !done {
		a.compareLater = compare
		a.logger.Warn("not every Redis is there, so that the cache's may be a limiter's under another name", "endpoint", c.Cache.Redacted())
	}
	return err
}

// compare tells whether every server was there to be told apart by its run id, and
// refuses a cache that is a limiter's. A server that does not tell is not told apart.
func (a *App) compare(ctx context.Context, c config.Config) (done bool, err error) {
	asked, cancel := context.WithTimeout(ctx, c.Cache.DialTimeout+c.Cache.CommandTimeout)
	defer cancel()
	own, err := a.cache.RunID(asked)
	if err != nil {
		return false, nil
	}
	if own == "" {
		a.logger.Warn("the cache's Redis does not tell its run id, so that it may be a limiter's under another name", "endpoint", c.Cache.Redacted())
		return true, nil
	}
	done = true
	is := func(of coordination.Endpoint) bool {
		health := of.Health()
		done = done && (health.Ready || health.RunID != "")
		return own == health.RunID
	}
	if a.inbound != nil && is(a.inbound.Connection()) {
		return true, fmt.Errorf("app.cache.redis.endpoint %s is the inbound-web limiter's server under another name: a cache needs a Redis of its own", c.Cache.Redacted())
	}
	if a.provider != nil && c.RateLimit.Redis.Database == c.Cache.Database && is(a.provider.Connection()) {
		return true, fmt.Errorf("app.cache.redis.endpoint %s is the coordination Redis under another name: a cache needs a Redis of its own", c.Cache.Redacted())
	}
	return done, nil
}

// watchCache compares what could not be compared at start, as soon as it can, until
// the function that it returns is called. A gateway that serves goes on serving.
func (a *App) watchCache(ctx context.Context) (end func()) {
	if a.compareLater == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(compareEvery)
		defer tick.Stop()
		for done := false; !done; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			var err error
			if done, err = a.compareLater(ctx); err != nil {
				a.logger.Error("the cache is not apart from a limiter: stop the gateway and configure it", "error", err)
			}
		}
	})
	return func() {
		cancel()
		watch.Wait()
	}
}

// steadyClock is how long it has been running.
func steadyClock() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}
