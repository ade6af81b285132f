package contender

import (
	"context"
	"strconv"

	"github.com/redis/rueidis"
)

// BareCounter is the name of the counter that stands in for rueidislimiter.
const BareCounter = "bare counter through rueidis (stand-in for rueidislimiter)"

// counter counts and does no more: no server time, nothing read, denials charged.
const counter = `local n = redis.call('INCRBY', KEYS[1], ARGV[1])
if n == tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return n`

// NewBareCounter is a counter through github.com/redis/rueidis and its own
// pipelining, which is the kind of work that rueidislimiter does.
func NewBareCounter() Contender {
	return Contender{Name: BareCounter, Path: Allowed, Open: func(addr string, names []string) (Limiter, error) {
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
		if err != nil {
			return nil, err
		}
		script := rueidis.NewLuaScript(counter)
		keys, args := prefixed("counter:", names), []string{"1", strconv.FormatInt(day.Milliseconds(), 10)}
		return opened{caller: func(context.Context) Decide {
			ctx := context.Background()
			return func(subject int) (bool, error) {
				n, err := script.Exec(ctx, client, keys[subject:subject+1], args).AsInt64()
				return err == nil && n <= Allowed.units(), err
			}
		}, close: func() error { client.Close(); return nil }}, nil
	}}
}

// prefixed is each name behind the prefix.
func prefixed(prefix string, names []string) []string {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = prefix + name
	}
	return keys
}
