package history_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/duallog"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/secret"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

const (
	inFlight     = 64 // places for all callers, of which a quarter may be sent together
	longestStart = 20 * time.Second
)

func connectionOf(o orders) coordination.Config {
	return coordination.Config{
		Addr: o.Addr, Protocol: o.Protocol, DialTimeout: time.Second, CommandTimeout: o.Timeout,
		MaxInFlight: inFlight, AdmissionWait: o.Timeout,
		BreakerFailures: 5, BreakerProbeEvery: 50 * time.Millisecond,
	}
}

// awaitReady waits until a connection serves.
func awaitReady(ctx context.Context, c coordination.Endpoint) error {
	ctx, cancel := context.WithTimeout(ctx, longestStart)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for !c.Health().Ready {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("not ready within %v: %+v", longestStart, c.Health())
		}
	}
	return nil
}

// edge is the provider of the edge port.
type edge struct{ provider *redislimit.Provider }

// keySecret is of every process of a run.
func keySecret() secret.Secret {
	s, err := secret.New([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		panic(err)
	}
	return s
}

func openEdge(ctx context.Context, o orders) (limiter, error) {
	provider, err := redislimit.Open(redislimit.Config{
		Redis: connectionOf(o), KeyPrefix: o.Prefix, Secret: keySecret(), Policies: policies(),
	})
	if err != nil {
		return nil, err
	}
	return edge{provider}, awaitReady(ctx, provider.Connection())
}

func (e edge) ask(ctx context.Context, o *operation) { askPort(ctx, e.provider, o) }

func (e edge) close() { _ = e.provider.Close() }

func askPort(ctx context.Context, port ratelimit.EdgeRateLimitPort, o *operation) {
	o.decided(port.Evaluate(ctx, ratelimit.Request{PolicyID: o.Call.Limiter, SubjectDigest: o.Call.Subject, Cost: o.Call.Cost}))
}

// log is the limiter of the inbound web: of one layer, and of two where the call names a user.
type log struct {
	single                 *duallog.RedisLimiter
	dual                   *duallog.RedisDualLimiter
	tenantLimit, userLimit int
}

// limitsOf are a tenant's and a user's limit under a window.
func limitsOf(window time.Duration) (tenant, user int) {
	if window == longLogWindow {
		return longTenantLimit, longUserLimit
	}
	return tenantLimit, userLimit
}

func openLog(window time.Duration) func(context.Context, orders) (limiter, error) {
	return func(ctx context.Context, o orders) (limiter, error) {
		single, err := duallog.Open(duallog.Config{Redis: connectionOf(o), Window: window})
		if err != nil {
			return nil, err
		}
		l := log{single: single, dual: single.Dual()}
		l.tenantLimit, l.userLimit = limitsOf(window)
		return l, awaitReady(ctx, single.Connection())
	}
}

func (l log) ask(ctx context.Context, o *operation) {
	var err error
	if o.Call.User == 0 {
		o.Verdict, err = l.single.AllowContext(ctx, o.Call.Subject, l.tenantLimit)
	} else {
		o.Verdict, err = l.dual.AllowDualContext(ctx, o.Call.Subject, l.tenantLimit, userOf(o.Call.Subject, o.Call.User), l.userLimit)
	}
	switch {
	case err == nil:
		o.Fate = answered
	case errors.Is(err, slidinglog.ErrUnknown):
		o.failed(unknown, err.Error())
	case errors.Is(err, slidinglog.ErrUnavailable):
		o.failed(refused, err.Error())
	default:
		o.failed(wrong, err.Error())
	}
}

func (l log) close() { _ = l.single.Close() }
