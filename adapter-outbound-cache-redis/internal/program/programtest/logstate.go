package programtest

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
)

// The instant at which the logs of this package are looked at, and how long a call in
// them counts, in microseconds.
const (
	LogNow    = 1_767_225_600_123_457 // not round: miniredis writes a round score with an exponent
	LogWindow = 60_000_000
)

// ForeignLogs are what a key may hold that is no log: another type, or a newest
// score that is no time.
func ForeignLogs() []State {
	var states []State
	for _, other := range ForeignTypes() {
		if other.Sentence != "the key is a zset" {
			states = append(states, other)
		}
	}
	states = append(states, Hash("the key is a hash", "a", "1"))
	for what, score := range map[string]string{
		"a fraction": "1767225600000000.5", "below zero": "-1", "beyond 2^53-1": "9007199254740992", "infinite": "+inf",
	} {
		states = append(states, State{"the newest score is " + what, func(t *testing.T, client *redis.Client, key string) {
			if err := client.Do(context.Background(), "ZADD", key, score, "planted").Err(); err != nil {
				t.Fatal(err)
			}
		}})
	}
	return states
}

// PlantLog puts a log of these times in place of key.
func PlantLog(t *testing.T, client *redis.Client, key string, times ...int64) {
	t.Helper()
	ctx := context.Background()
	client.Del(ctx, key)
	for _, at := range times {
		score := Decimal(at)
		if err := client.Do(ctx, "ZADD", key, score, score+"-0").Err(); err != nil {
			t.Fatal(err)
		}
	}
	client.PExpire(ctx, key, time.Hour)
}

// LogRefusesKeys demands that the log program refuses each of ForeignLogs, alone, as
// the outer and as the inner of two, and leaves both keys alone. It answers how many
// calls there were.
func LogRefusesKeys(t *testing.T, client *redis.Client, prefix string) (calls int) {
	for i, foreign := range ForeignLogs() {
		bad, good := prefix+"bad "+strconv.Itoa(i), prefix+"good "+strconv.Itoa(i)
		for name, keys := range map[string][]string{
			"alone": {bad}, "the outer": {bad, good}, "the inner": {good, bad},
		} {
			calls++
			client.Del(context.Background(), bad)
			foreign.Plant(t, client, bad)
			client.PExpire(context.Background(), bad, time.Hour)
			PlantLog(t, client, good, LogNow-2*LogWindow, LogNow-1)
			badBefore, goodBefore := Content(t, client, bad), Content(t, client, good)
			got := EvalLog(t, client, keys, LogNow, LogWindow, []int64{5, 5}[:len(keys)])
			if got != "STATE_INCOMPATIBLE 0 0 0 0 0" {
				t.Errorf("%s, %s: got %s, want STATE_INCOMPATIBLE 0 0 0 0 0", foreign.Sentence, name, got)
			}
			if after := Content(t, client, bad); after != badBefore {
				t.Errorf("%s, %s: it became %.200s, was %.200s", foreign.Sentence, name, after, badBefore)
			}
			if after := Content(t, client, good); after != goodBefore {
				t.Errorf("%s, %s: the other log became %.200s, was %.200s", foreign.Sentence, name, after, goodBefore)
			}
		}
	}
	return calls
}

// EvalLog runs the log program at a set time: its reply in one line. Unlike CallLog it
// leaves the lifetimes as they are.
func EvalLog(t *testing.T, client *redis.Client, keys []string, nowMicros, windowMicros int64, limits []int64) string {
	t.Helper()
	timed := program.WithClock(program.SlidingLog, SetClock)
	return Text(Eval(t, client, timed, keys, logArgs(nowMicros, windowMicros, limits)...))
}
