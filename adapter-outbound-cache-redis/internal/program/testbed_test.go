package program_test

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// setClock takes the time from the last argument, so that a test sets it, and makes
// every lifetime extraMillis longer, so that none passes during a test, however
// short it is and however long the server is kept waiting.
const setClock = `
local now = tonumber(table.remove(ARGV))
local server = redis
local redis = {call = function(command, key, value, ...)
  if command == 'PEXPIRE' then value = string.format('%.0f', tonumber(value) + 3600000) end
  if key == nil then return server.call(command) end
  if value == nil then return server.call(command, key) end
  return server.call(command, key, value, ...)
end}
`

const extraMillis = 3600000

// lifetime is what PTTL told of a key that a program behind setClock wrote.
func lifetime(pttl int64) int64 {
	if pttl < 0 {
		return pttl
	}
	return pttl - extraMillis
}

// testbed is one server and a key on it.
type testbed struct {
	t      *testing.T
	client *redis.Client
	key    string
}

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

// step is what one evaluation answered, and the expiry that it set.
type step struct {
	reply     model.Reply
	ttlMillis int64 // PTTL right after; negative where the key has no expiry
}

// evaluate runs p's program at a set time. PTTL and PERSIST follow within the
// same transaction, in which no key expires, so the key stays for as long as the
// test wants, however short its real life would be.
func (b testbed) evaluate(p ratelimit.Policy, nowMillis, cost int64) step {
	b.t.Helper()
	ctx := context.Background()
	timed := program.WithClock(program.For(p.Algorithm()), setClock)
	args := []any{"EVAL", timed.Source, 1, b.key}
	for _, arg := range program.PolicyArgs(p) {
		args = append(args, arg)
	}
	args = append(args, cost, nowMillis)
	tx := b.client.TxPipeline()
	ran := tx.Do(ctx, args...)
	pttl := tx.Do(ctx, "PTTL", b.key)
	tx.Persist(ctx, b.key)
	if _, err := tx.Exec(ctx); err != nil {
		b.t.Fatalf("run %s: %v", timed.ID(), err)
	}
	ttl, err := pttl.Int64()
	if err != nil {
		b.t.Fatal(err)
	}
	return step{reply: b.decode(ran), ttlMillis: lifetime(ttl)}
}

// decode reads what the client parsed as strictly as the provider does, but for
// the policy's limit, which callers compare themselves.
func (b testbed) decode(ran *redis.Cmd) model.Reply {
	b.t.Helper()
	values, err := ran.Slice()
	if err != nil || len(values) != 7 {
		b.t.Fatalf("reply %v: %v", values, err)
	}
	var n [6]int64
	for i := range n {
		number, ok := values[i+1].(int64)
		if !ok {
			b.t.Fatalf("field %d is %T, not an integer", i+1, values[i+1])
		}
		n[i] = number
	}
	return model.Reply{
		Status: model.Status(values[0].(string)), ServerNowMillis: n[0], EffectiveNowMillis: n[1],
		Limit: n[2], Remaining: n[3], RetryAfterMillis: n[4], ResetAtMillis: n[5],
	}
}

func (b testbed) drop() {
	b.t.Helper()
	if err := b.client.Del(context.Background(), b.key).Err(); err != nil {
		b.t.Fatal(err)
	}
}
