package compose

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/answer"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/edge"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/handler"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/middleware"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/route"
	rediscache "github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/cache"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/duallog"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/app-bootstrap/internal/admin"
	"github.com/edgelimit/edgelimit/app-bootstrap/internal/config"
	"github.com/edgelimit/edgelimit/app-bootstrap/internal/gateway"
	"github.com/edgelimit/edgelimit/app-bootstrap/internal/limitsource"
	"github.com/edgelimit/edgelimit/app-bootstrap/internal/metrics"
	"github.com/edgelimit/edgelimit/shared-contract/subject"
)

// firstAttempt bounds the wait at start for Redis to pass, refuse, or turn out to
// be away.
const firstAttempt = 5 * time.Second

// App is the composed program, listening and ready to Run.
type App struct {
	logger    *slog.Logger
	readiness *admin.Readiness
	main      *listener
	admin     *listener             // nil: none
	provider  *redislimit.Provider  // nil: the edge port is off
	inbound   *duallog.RedisLimiter // nil: the inbound-web limiter is off, or local
	mode      config.InboundMode    // of that limiter
	source    *limitsource.Source   // nil: limits are configured alone
	cache     *rediscache.Redis     // nil: no cache is shared

	// compareLater, if set, compares the cache with the limiters' servers.
	compareLater func(context.Context) (done bool, err error)
}

// New composes what c describes. On an error nothing is left open; a Redis that
// is away is no error, one that refuses this client is.
func New(ctx context.Context, c config.Config, logger *slog.Logger) (app *App, err error) {
	app = &App{logger: logger, readiness: &admin.Readiness{}, mode: c.InboundWeb.Mode}
	defer func() {
		if err != nil {
			app.close()
			app = nil
		}
	}()

	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	resolver, err := newResolver(c)
	if err != nil {
		return app, err
	}
	var judge *edge.Judge
	if c.RateLimit.Enabled {
		if judge, err = app.newJudge(ctx, c, resolver, registry); err != nil {
			return app, err
		}
	}
	inbound, err := app.newInbound(ctx, c, resolver, registry)
	if err != nil {
		return app, err
	}
	if app.main, err = listen(c.Server.Listen, mainHandler(c, resolver, judge, inbound, logger), mainTimeouts, logger); err != nil {
		return app, fmt.Errorf("app.server.listen: %w", err)
	}
	if c.Server.AdminListen == "" {
		return app, nil
	}
	operators, err := app.adminHandler(c, judge, registry)
	if err != nil {
		return app, err
	}
	if app.admin, err = listen(c.Server.AdminListen, operators, adminTimeouts, logger); err != nil {
		return app, fmt.Errorf("app.server.admin-listen: %w", err)
	}
	return app, nil
}

func newResolver(c config.Config) (identity.Resolver, error) {
	var trusted []string
	for _, prefix := range c.Server.TrustedProxies {
		trusted = append(trusted, prefix.String())
	}
	proxies, err := identity.ParseProxies(trusted)
	if err != nil {
		return identity.Resolver{}, fmt.Errorf("app.server.trusted-proxies: %w", err)
	}
	resolver, err := identity.NewResolver(identity.Config{
		Proxies: proxies, IPv6PrefixBits: c.Server.IPv6PrefixBits, SubjectHeader: c.Gateway.SubjectHeader,
		Principal: identity.PrincipalHeaders{
			Tenant: c.InboundWeb.TenantHeader, User: c.InboundWeb.UserHeader, Key: c.InboundWeb.KeyHeader,
		},
	})
	if err != nil {
		return identity.Resolver{}, fmt.Errorf("app.gateway.subject: %w", err)
	}
	return resolver, nil
}

// newJudge opens the provider and makes the judge that asks it.
func (a *App) newJudge(ctx context.Context, c config.Config, resolver identity.Resolver, registry *prometheus.Registry) (*edge.Judge, error) {
	table, err := newTable(c.RateLimit)
	if err != nil {
		return nil, fmt.Errorf("app.rate-limit.routes: %w", err)
	}
	a.provider, err = redislimit.Open(redislimit.Config{
		Redis: connectionOf(c.RateLimit.Redis, a.logger), KeyPrefix: c.RateLimit.Redis.KeyPrefix,
		Secret: c.RateLimit.Redis.Secret, Policies: c.RateLimit.Policies,
		DenialCache: redislimit.DenialCache(c.RateLimit.DenialCache),
	})
	if err != nil {
		return nil, fmt.Errorf("app.rate-limit.redis: %w", err)
	}
	if err := refusal(ctx, a.provider.Connection()); err != nil {
		return nil, fmt.Errorf("app.rate-limit.redis.endpoint %s: %w", c.RateLimit.Redis.Redacted(), err)
	}
	a.readiness.Endpoint, a.readiness.Connection = c.RateLimit.Redis.Redacted(), a.provider.Connection()
	metrics.Observe(registry, a.provider.Connection())

	rawPaths := route.RejectRawPaths
	if c.Gateway.ForwardRawPaths {
		rawPaths = route.ForwardRawPaths
	}
	return edge.NewJudge(edge.Config{
		Port:     metrics.Meter(registry, a.provider, c.RateLimit.Policies),
		Digester: subject.NewDigester(c.RateLimit.Redis.Secret),
		Resolver: resolver,
		Table:    table,
		Budget:   a.provider.Budget(),
		RawPaths: rawPaths,
	})
}

// refusal waits for the first attempt to connect, and is why the server refuses this
// client; nil if it does not, or is away.
func refusal(ctx context.Context, connection coordination.Endpoint) error {
	attempt, cancel := context.WithTimeout(ctx, firstAttempt)
	defer cancel()
	err := connection.AwaitFirstAttempt(attempt)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func newTable(c config.RateLimit) (route.Table, error) {
	var rules []route.Rule
	for _, r := range c.Routes {
		rules = append(rules, route.Rule{Path: r.Path, Methods: r.Methods, Policy: r.Policy, Cost: r.Cost})
	}
	return route.NewTable(route.Config{Policies: c.Policies, Default: c.DefaultPolicy.ID(), Rules: rules})
}

func connectionOf(c config.Redis, logger *slog.Logger) coordination.Config {
	return coordination.Config{
		Addr: c.Address, TLS: tlsOf(c.TLS), Username: c.Username, Password: c.Password.Reveal(), Database: c.Database,
		DialTimeout: c.DialTimeout, CommandTimeout: c.CommandTimeout,
		MaxInFlight: c.MaxInFlight, AdmissionWait: c.AdmissionWait,
		BreakerFailures: c.BreakerFailures, BreakerProbeEvery: c.BreakerProbeEvery,
		Logger: logger,
	}
}

func tlsOf(wanted bool) *tls.Config {
	if !wanted {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12}
}

// mainHandler is the gateway behind the limiters that are on, the edge port first;
// without an upstream, authorize alone; with neither, nothing. A nil judge or
// inbound is a limiter that is off.
func mainHandler(c config.Config, resolver identity.Resolver, judge *edge.Judge, inbound func(http.Handler) http.Handler, logger *slog.Logger) http.Handler {
	r := chi.NewRouter()
	r.NotFound(handler.NotFound)
	if c.Gateway.Upstream == nil {
		if judge != nil {
			return handler.New(judge).MountAuthorize(r)
		}
		return r
	}
	settings := gateway.Config{Upstream: c.Gateway.Upstream, Resolver: resolver, Logger: logger}
	if judge != nil || inbound != nil {
		settings.ModifyResponse = answer.StripResponse
	}
	proxied := gateway.New(settings)
	if inbound != nil {
		proxied = inbound(proxied)
	}
	if judge != nil {
		proxied = middleware.Edge(judge)(proxied)
	}
	return proxied
}

func (a *App) adminHandler(c config.Config, judge *edge.Judge, registry *prometheus.Registry) (http.Handler, error) {
	settings := admin.Config{Registry: registry, Readiness: a.readiness}
	if !c.Server.AdminToken.IsZero() {
		settings.Token = []byte(c.Server.AdminToken.Reveal())
	}
	if judge != nil {
		settings.Decisions = handler.New(judge)
	}
	return admin.New(settings)
}
