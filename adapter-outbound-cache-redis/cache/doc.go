// Package cache is the cache port on Redis, over a connection of its own.
//
// The one rule that matters: nothing here decides whether a request may pass. A
// cache may fail open, be evicted or be another server, so it shares no connection,
// no breaker and no setting with the limiters, and neither imports the other.
//
// An entry is one string: the 16 bytes of its write's token, then the value. Read
// redis.go first, then failopen.go.
package cache
