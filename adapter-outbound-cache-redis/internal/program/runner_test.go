package program_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// policy makes a policy without grace and regression.
func policy(t *testing.T, a ratelimit.Algorithm) ratelimit.Policy {
	t.Helper()
	return policyWith(t, a, 0, 0)
}

func policyWith(t *testing.T, a ratelimit.Algorithm, regression, grace time.Duration) ratelimit.Policy {
	t.Helper()
	p, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: "test", Revision: 1, Algorithm: a, MaxCost: 1, FailureMode: ratelimit.FailClosed,
		MaxClockRegression: regression, CleanupGrace: grace,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ordinary is one unremarkable policy of each algorithm.
func ordinary(t *testing.T) []ratelimit.Policy {
	return []ratelimit.Policy{
		policyWith(t, ratelimit.FixedWindow{Limit: 10, Window: time.Minute}, 2*time.Second, 30*time.Second),
		policyWith(t, ratelimit.SlidingWindowCounter{Limit: 10, Window: time.Minute}, 2*time.Second, 30*time.Second),
		policyWith(t, ratelimit.TokenBucket{Capacity: 10, RefillTokens: 3, RefillPeriod: time.Minute}, 2*time.Second, 30*time.Second),
	}
}

// eval runs a program by its source and returns its reply as client values.
func eval(t *testing.T, client *redis.Client, p program.Program, keys []string, argv ...string) []any {
	t.Helper()
	args := []any{"EVAL", p.Source, len(keys)}
	for _, key := range keys {
		args = append(args, key)
	}
	for _, arg := range argv {
		args = append(args, arg)
	}
	values, err := client.Do(context.Background(), args...).Slice()
	if err != nil {
		t.Fatalf("run %s %q: %v", p.ID(), argv, err)
	}
	return values
}

// text is a reply in one line.
func text(values []any) string {
	words := make([]string, len(values))
	for i, value := range values {
		words[i] = fmt.Sprint(value)
	}
	return strings.Join(words, " ")
}

// plant puts a hash of these alternating fields and values in place of key.
func plant(t *testing.T, client *redis.Client, key string, fields ...string) {
	t.Helper()
	ctx := context.Background()
	client.Del(ctx, key)
	if err := client.HSet(ctx, key, fields).Err(); err != nil {
		t.Fatal(err)
	}
}

// content is everything about a key: type, value and the instant of its expiry.
func content(t *testing.T, client *redis.Client, key string) string {
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

// calls is how often the server has run a command.
func calls(t *testing.T, client *redis.Client, command string) int64 {
	t.Helper()
	info, err := client.Info(context.Background(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(info, "cmdstat_"+command+":calls=")
	if !found {
		return 0
	}
	digits, _, _ := strings.Cut(after, ",")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
