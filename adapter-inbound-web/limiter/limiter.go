package limiter

import (
	"context"

	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// RateLimiter counts a call of one key if fewer than limit calls of it count. The
// key is used verbatim. The error is one of package slidinglog, and then the other
// answers mean nothing; limit 0 denies.
type RateLimiter interface {
	Allow(key string, limit int) (bool, int, error) // allowed, remaining, error
}

// DualLayerLimiter counts a call of a tenant and of one of its users or keys, by
// both if both have room, else by neither. The keys must share a hash tag. The
// error is one of package slidinglog, and then the other answers mean nothing.
type DualLayerLimiter interface {
	AllowDual(tenantKey string, tenantLimit int, userKey string, userLimit int) (allowed bool, tenantRemaining int, userRemaining int, err error)
}

// ContextRateLimiter is a RateLimiter that takes a context, which may shorten the
// call, and says when to come again. The verdict's outer layer is the only one.
type ContextRateLimiter interface {
	RateLimiter
	AllowContext(ctx context.Context, key string, limit int) (slidinglog.Verdict, error)
}

// ContextDualLayerLimiter is a DualLayerLimiter that takes a context, which may
// shorten the call, and says when to come again. The verdict's outer layer is the
// tenant, its inner one the user or key.
type ContextDualLayerLimiter interface {
	DualLayerLimiter
	AllowDualContext(ctx context.Context, tenantKey string, tenantLimit int, userKey string, userLimit int) (slidinglog.Verdict, error)
}

var (
	_ ContextRateLimiter      = (*LocalLimiter)(nil)
	_ ContextDualLayerLimiter = (*LocalDualLimiter)(nil)
	_ ContextRateLimiter      = (*Scripted)(nil)
	_ ContextDualLayerLimiter = (*Scripted)(nil)
)
