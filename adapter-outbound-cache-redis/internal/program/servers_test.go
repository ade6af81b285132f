package program_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// servers are the servers that every program must agree on.
func servers(t *testing.T, run func(t *testing.T, client *redis.Client)) {
	t.Run("miniredis", func(t *testing.T) {
		standing := miniredis.RunT(t)
		standing.SetTime(time.UnixMilli(1_700_000_000_000)) // else an expiry is counted from the host's clock
		run(t, connect(t, standing.Addr()))
	})
	t.Run("redis-server", func(t *testing.T) {
		run(t, connect(t, redistest.Start(t).Addr()))
	})
}

func connect(t *testing.T, addr string) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, PoolSize: 4, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	return client
}
