package programtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Plant puts a hash of these alternating fields and values in place of key.
func Plant(t *testing.T, client *redis.Client, key string, fields ...string) {
	t.Helper()
	ctx := context.Background()
	client.Del(ctx, key)
	if err := client.HSet(ctx, key, fields).Err(); err != nil {
		t.Fatal(err)
	}
}

// Content is everything about a key: type, value and the instant of its expiry.
func Content(t *testing.T, client *redis.Client, key string) string {
	t.Helper()
	ctx := context.Background()
	kind, err := client.Type(ctx, key).Result()
	if err != nil {
		t.Fatal(err)
	}
	read := map[string][]any{
		"none": {"EXISTS", key}, "string": {"GET", key}, "hash": {"HGETALL", key}, "set": {"SMEMBERS", key},
		"list": {"LRANGE", key, 0, -1}, "zset": {"ZRANGE", key, 0, -1, "WITHSCORES"}, "stream": {"XRANGE", key, "-", "+"},
		"hll": {"PFCOUNT", key}, // miniredis has a type of its own
	}[kind]
	value, err := client.Do(ctx, read...).Result()
	if err != nil {
		t.Fatal(err)
	}
	expiry, err := client.Do(ctx, "PEXPIRETIME", key).Int64()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %v until %d", kind, value, expiry)
}
