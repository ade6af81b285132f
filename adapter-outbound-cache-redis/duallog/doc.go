// Package duallog is the inbound-web limiter on Redis: the sliding-window log of
// one key, or of a tenant and one of its users at once, by one Lua program.
//
// The one rule that matters: a call is dispatched once. What became of a call
// whose answer was lost is ErrUnknown, and it is not sent again.
//
// RedisLimiter and RedisDualLimiter know nothing of the adapter that asks them;
// they fit its interfaces by shape. The arithmetic and the errors are in
// shared-contract/slidinglog.
package duallog
