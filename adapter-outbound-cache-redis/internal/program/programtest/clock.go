package programtest

import (
	"context"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
)

// SetClock takes the time from the last argument, so that a test sets it. Each lifetime
// that a program gives is noted beside the key as PEXPIRE was told it, for [GivenTo]:
// what a server tells of it has run on by then. The key itself lives an hour longer, so
// that none dies during a test, however short its lifetime and however long the server
// is kept waiting. It is for [program.WithClock].
const SetClock = `
local now = tonumber(table.remove(ARGV))
local server = redis
local redis = {call = function(command, key, value, ...)
  if command == 'PEXPIRE' then
    local given = server.call(command, key, string.format('%.0f', tonumber(value) + 3600000), ...)
    if given == 1 then
      server.call('RPUSH', key .. ' given', value)
      server.call('PEXPIRE', key .. ' given', 3600000)
    end
    return given
  end
  if key == nil then return server.call(command) end
  if value == nil then return server.call(command, key) end
  return server.call(command, key, value, ...)
end}
`

// TimedBatch is the batch program behind SetClock.
var TimedBatch = program.WithClock(program.RateBatch, SetClock)

// Given are the lifetimes that programs behind SetClock have given a key since the last
// look. They can be read once what was sent with it has run.
type Given struct {
	key  string
	told *redis.StringSliceCmd
	left *redis.Cmd
}

// GivenTo looks at a key after what was sent before it.
func GivenTo(pipe redis.Pipeliner, key string) Given {
	ctx, note := context.Background(), key+" given"
	g := Given{key, pipe.LRange(ctx, note, 0, -1), pipe.Do(ctx, "PTTL", key)}
	pipe.Del(ctx, note)
	return g
}

// Millis are the lifetimes in milliseconds, in the order in which they were given. The
// test fails if the key has no end after one.
func (g Given) Millis(t *testing.T) []int64 {
	t.Helper()
	told, err := g.told.Result()
	if err != nil {
		t.Fatal(err)
	}
	if len(told) > 0 && !g.Ends(t) {
		t.Fatalf("%s was given %q ms, and has no end", g.key, told)
	}
	var all []int64
	for _, text := range told {
		millis, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatalf("%s was given %q ms: %v", g.key, text, err)
		}
		all = append(all, millis)
	}
	return all
}

// One is the lifetime that one decision gave, 0 if it gave none.
func (g Given) One(t *testing.T) int64 {
	t.Helper()
	switch all := g.Millis(t); len(all) {
	case 0:
		return 0
	case 1:
		return all[0]
	default:
		t.Fatalf("%s was given %d ms by one decision, want one lifetime", g.key, all)
		return 0
	}
}

// Ends tells whether the key is there and will expire.
func (g Given) Ends(t *testing.T) bool {
	t.Helper()
	left, err := g.left.Int64()
	if err != nil {
		t.Fatal(err)
	}
	return left > 0
}
