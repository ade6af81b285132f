package contender

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/duallog"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// The limits of the two layers, and how many tenants share the users.
const (
	tenantLimit = 100
	userLimit   = 20
	tenants     = 50
)

// DualUsers is how many users the dual layer is asked about.
const DualUsers = 5000

// Dual is the limiter of a tenant and of one of its users at once, and beside it
// one limiter asked twice, which is what it takes without. The longer the window,
// the more is denied.
func Dual(window time.Duration) (both, twice Contender) {
	both = dual("one call", window, func(l *duallog.RedisLimiter) judge {
		layers := l.Dual()
		return func(ctx context.Context, tenant, user string) (slidinglog.Verdict, error) {
			return layers.AllowDualContext(ctx, tenant, tenantLimit, user, userLimit)
		}
	})
	twice = dual("two calls", window, func(l *duallog.RedisLimiter) judge {
		return func(ctx context.Context, tenant, user string) (slidinglog.Verdict, error) {
			outer, err := l.AllowContext(ctx, tenant, tenantLimit)
			if err != nil {
				return outer, err
			}
			inner, err := l.AllowContext(ctx, user, userLimit)
			inner.Allowed = inner.Allowed && outer.Allowed
			return inner, err
		}
	})
	return both, twice
}

type judge func(ctx context.Context, tenant, user string) (slidinglog.Verdict, error)

func dual(name string, window time.Duration, of func(*duallog.RedisLimiter) judge) Contender {
	name += ", window " + window.String()
	return Contender{Name: name, Path: Mixed, Open: func(addr string, names []string) (Limiter, error) {
		l, err := duallog.Open(duallog.Config{Redis: connection(addr), Window: window})
		if err != nil {
			return nil, err
		}
		if err := await(l.Connection()); err != nil {
			return nil, errors.Join(err, l.Close())
		}
		allow := of(l)
		users, owners := make([]string, len(names)), make([]string, len(names))
		for i := range names {
			owners[i] = "dual:{" + name + strconv.Itoa(i%tenants) + "}"
			users[i] = owners[i] + names[i]
		}
		return opened{close: l.Close, caller: func(ctx context.Context) Decide {
			return func(subject int) (bool, error) {
				verdict, err := allow(ctx, owners[subject], users[subject])
				return verdict.Allowed, err
			}
		}}, nil
	}}
}
