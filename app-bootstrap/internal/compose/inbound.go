package compose

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limiter"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limitkey"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/middleware"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/duallog"
	"github.com/edgelimit/edgelimit/app-bootstrap/internal/config"
	"github.com/edgelimit/edgelimit/app-bootstrap/internal/limitsource"
	"github.com/edgelimit/edgelimit/app-bootstrap/internal/metrics"
)

// What the inbound-web limiter's own pool is held to; the edge port's is configured.
const (
	inboundInFlight        = 128
	inboundDialTimeout     = time.Second
	inboundBreakerFailures = 5
	inboundProbeEvery      = time.Second
)

var (
	_ limiter.ContextRateLimiter      = (*duallog.RedisLimiter)(nil)
	_ limiter.ContextDualLayerLimiter = (*duallog.RedisDualLimiter)(nil)
)

// newInbound makes the inbound-web limiter's middleware, or nil where it is off.
func (a *App) newInbound(ctx context.Context, whole config.Config, resolver identity.Resolver, registry *prometheus.Registry) (func(http.Handler) http.Handler, error) {
	c := whole.InboundWeb
	if c.Mode == config.ModeOff {
		return nil, nil
	}
	local, err := limiter.NewLocalLimiter(limiter.LocalConfig{Window: c.Window})
	if err != nil {
		return nil, fmt.Errorf("app.inbound-web.rate-limit: %w", err)
	}
	m := middleware.RateLimitMiddleware{
		Limiter: local, DualLayerLimiter: local.Dual(),
		Resolver: resolver, Keys: keysOf(c), Window: c.Window,
		Observer: metrics.NewInbound(registry, c.Mode == config.ModeRedis && !c.FailClosed),
	}
	if c.CountPreflight {
		m.Preflight = middleware.CountPreflight
	}
	if c.Mode == config.ModeRedis {
		if err := a.openInbound(ctx, c); err != nil {
			return nil, err
		}
		m.Limiter, m.DualLayerLimiter = a.inbound, a.inbound.Dual()
		if !c.FailClosed {
			m.Fallback = &middleware.LocalFallback{Limiter: local, DualLayerLimiter: local.Dual(), Replicas: c.Replicas}
			a.logger.Warn("accepted risk: while the inbound-web Redis is away each replica counts alone, so a limit holds per replica",
				"replicas", c.Replicas)
		}
	}
	source, err := a.newSource(ctx, whole, registry)
	if err != nil {
		return nil, err
	}
	m.Limits = limitsOf(c, source)
	if err := m.Check(); err != nil {
		return nil, fmt.Errorf("app.inbound-web.rate-limit: %w", err)
	}
	return m.Handler, nil
}

// openInbound opens the limiter's Redis. One that is away may come; one that refuses
// this client stops the start, under either outage policy.
func (a *App) openInbound(ctx context.Context, c config.InboundWeb) (err error) {
	a.inbound, err = duallog.Open(duallog.Config{Window: c.Window, Redis: coordination.Config{
		Addr: c.Redis.Address, TLS: tlsOf(c.Redis.TLS), Database: c.Redis.Database,
		Username: c.Redis.Username, Password: c.Redis.Password.Reveal(),
		DialTimeout: inboundDialTimeout, CommandTimeout: c.CommandTimeout, MaxInFlight: inboundInFlight,
		BreakerFailures: inboundBreakerFailures, BreakerProbeEvery: inboundProbeEvery,
		Logger: a.logger.With("limiter", "inbound-web"),
	}})
	if err != nil {
		return fmt.Errorf("app.inbound-web.rate-limit.redis-url: %w", err)
	}
	if err := refusal(ctx, a.inbound.Connection()); err != nil {
		return fmt.Errorf("app.inbound-web.rate-limit.redis-url %s: %w", c.Redis.Redacted(), err)
	}
	a.readiness.Inbound, a.readiness.InboundNeeded = a.inbound.Connection(), c.FailClosed
	a.readiness.InboundEndpoint = c.Redis.Redacted()
	return nil
}

func keysOf(c config.InboundWeb) limitkey.Builder {
	if c.Secret.IsZero() {
		return limitkey.NewRandom()
	}
	return limitkey.New(c.Secret)
}

// limitsOf are what the source says of a tenant, or what is configured of it, or
// everybody's. A nil source says nothing.
func limitsOf(c config.InboundWeb, source *limitsource.Source) func(context.Context, identity.Principal) middleware.Limits {
	everybody := middleware.Limits(c.Limits)
	own := make(map[string]middleware.Limits, len(c.Tenants))
	for id, limits := range c.Tenants {
		own[id] = middleware.Limits(limits)
	}
	return func(ctx context.Context, p identity.Principal) middleware.Limits {
		limits, ok := own[p.Tenant]
		if !ok {
			limits = everybody
		}
		if source == nil || p.Tenant == "" {
			return limits
		}
		said := source.Of(ctx, p.Tenant)
		take(&limits.Tenant, said.Tenant)
		take(&limits.User, said.User)
		take(&limits.Key, said.Key)
		takeOwn(&limits.User, said.Users, p.User)
		takeOwn(&limits.Key, said.Keys, p.Key)
		return limits
	}
}

func take(limit *int, said *limitsource.Limit) {
	if said != nil {
		*limit = int(*said)
	}
}

func takeOwn(limit *int, said map[string]limitsource.Limit, id string) {
	if own, ok := said[id]; ok {
		*limit = int(own)
	}
}
