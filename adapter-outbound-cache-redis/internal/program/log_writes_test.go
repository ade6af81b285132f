package program_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// witness takes the time from the last argument and keeps every command that the
// program gives, in the order given, in the list "witness".
const witness = `
local now = tonumber(table.remove(ARGV))
local server = redis
local redis = {call = function(...)
  server.call('RPUSH', 'witness', table.concat({...}, ' '))
  return server.call(...)
end}
`

// witnessed runs the log program with two layers and returns its status and the
// commands that write.
func witnessed(t *testing.T, client *redis.Client, nowMicros, windowMicros int64, outerLimit, innerLimit string) (status string, writes []string) {
	t.Helper()
	ctx := context.Background()
	client.Del(ctx, "witness")
	got := programtest.Eval(t, client, program.WithClock(program.SlidingLogDual, witness), []string{"outer", "inner"},
		strconv.FormatInt(windowMicros, 10), outerLimit, innerLimit, strconv.FormatInt(nowMicros, 10))
	for _, command := range client.LRange(ctx, "witness", 0, -1).Val() {
		switch verb, _, _ := strings.Cut(command, " "); verb {
		case "TYPE", "ZRANGE", "ZCOUNT":
		default:
			writes = append(writes, command)
		}
	}
	return got[0].(string), writes
}

// A server that is full refuses ZADD and does not refuse what removes, so that
// every ZADD comes before the first trim; and the lifetime comes last.
func TestLog_anAllowAddsToBothThenTrimsAndSetsTheLifetime(t *testing.T) {
	client := connect(t, redistest.Start(t).Addr())
	const now, window = programtest.LogNow, programtest.LogWindow
	for i, row := range []struct {
		at   int64
		want []string
	}{
		{now, []string{
			"ZADD outer 1767225600123457 1767225600123457-0", "ZADD inner 1767225600123457 1767225600123457-0",
			"ZREMRANGEBYSCORE outer -inf 1767225540123457", "PEXPIRE outer 61000",
			"ZREMRANGEBYSCORE inner -inf 1767225540123457", "PEXPIRE inner 61000",
		}},
		{now - window, []string{ // a clock one window back is held
			"ZADD outer 1767225600123457 1767225600123457-1", "ZADD inner 1767225600123457 1767225600123457-1",
			"ZREMRANGEBYSCORE outer -inf 1767225540123457", "PEXPIRE outer 61000",
			"ZREMRANGEBYSCORE inner -inf 1767225540123457", "PEXPIRE inner 61000",
		}},
		{now + 1, []string{
			"ZADD outer 1767225600123458 1767225600123458-0", "ZADD inner 1767225600123458 1767225600123458-0",
			"ZREMRANGEBYSCORE outer -inf 1767225540123458", "PEXPIRE outer 61000",
			"ZREMRANGEBYSCORE inner -inf 1767225540123458", "PEXPIRE inner 61000",
		}},
	} {
		status, writes := witnessed(t, client, row.at, window, "3", "3")
		if status != "ALLOWED" || !slices.Equal(writes, row.want) {
			t.Errorf("call %d:\n got %s %q\nwant ALLOWED %q", i+1, status, writes, row.want)
		}
	}
	if status, writes := witnessed(t, client, now+2, window, "3", "9"); status != "DENIED" || len(writes) > 0 {
		t.Errorf("a full log: got %s %q, want DENIED and no write", status, writes)
	}
}

func TestLog_theLifetimeIsTheWindowInMillisecondsRoundedUpAndASecond(t *testing.T) {
	client := connect(t, redistest.Start(t).Addr())
	for window, want := range map[int64]string{
		1: "1001", 999: "1001", 1000: "1001", 1001: "1002", 60_000_000: "61000", 31_622_400_000_000: "31622401000",
	} {
		client.FlushAll(context.Background())
		status, writes := witnessed(t, client, programtest.LogNow, window, "1", "1")
		var got []string
		for _, write := range writes {
			if rest, ok := strings.CutPrefix(write, "PEXPIRE "); ok {
				got = append(got, rest)
			}
		}
		if status != "ALLOWED" || !slices.Equal(got, []string{"outer " + want, "inner " + want}) {
			t.Errorf("a window of %d us: got %s, lifetimes %q, want %s for both", window, status, got, want)
		}
	}
}

// What each call makes the server do, by the server's own count.
func TestLog_eachRunReadsTheClockOnceAndOnlyAnAllowWrites(t *testing.T) {
	client := connect(t, redistest.Start(t).Addr())
	const allows, denials = 4, 6
	if err := client.ConfigResetStat(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
	for n := range allows + denials {
		got := programtest.Eval(t, client, program.SlidingLogDual, []string{"outer", "inner"}, "3600000000", strconv.Itoa(allows), "100")
		if want := map[bool]string{true: "ALLOWED", false: "DENIED"}[n < allows]; got[0] != want {
			t.Fatalf("call %d: got %s, want %s", n, programtest.Text(got), want)
		}
	}
	for command, want := range map[string]int64{
		"eval": allows + denials, "time": allows + denials, "type": 2 * (allows + denials),
		"zadd": 2 * allows, "zremrangebyscore": 2 * allows, "pexpire": 2 * allows,
	} {
		if got := calls(t, client, command); got != want {
			t.Errorf("%d calls of %s, want %d", got, command, want)
		}
	}
}

// The production clock is the server's, to the microsecond.
func TestLog_theClockIsTheServersInMicroseconds(t *testing.T) {
	servers(t, func(t *testing.T, client *redis.Client) {
		ctx := context.Background()
		micros := func() int64 {
			now, err := client.Time(ctx).Result()
			if err != nil {
				t.Fatal(err)
			}
			return now.UnixMicro()
		}
		for range 100 {
			client.Del(ctx, "outer")
			before := micros()
			programtest.Eval(t, client, program.SlidingLog, []string{"outer"}, "1000000", "5")
			scored := client.ZRangeWithScores(ctx, "outer", 0, -1).Val()
			if len(scored) != 1 || int64(scored[0].Score) < before || int64(scored[0].Score) > micros() {
				t.Fatalf("counted at %v, want %d to %d", scored, before, micros())
			}
			if want := fmt.Sprintf("%.0f-0", scored[0].Score); scored[0].Member != want {
				t.Fatalf("member %v, want %s", scored[0].Member, want)
			}
		}
	})
}

// An expiry that another client took away comes back with the next allow.
func TestLog_everyAllowSetsTheLifetimeOfBothAnew(t *testing.T) {
	client, ctx := connect(t, redistest.Start(t).Addr()), context.Background()
	for range 3 {
		programtest.Eval(t, client, program.SlidingLogDual, []string{"outer", "inner"}, "3600000000", "5", "5")
		for _, key := range []string{"outer", "inner"} {
			if ttl := client.PTTL(ctx, key).Val(); ttl <= time.Hour || ttl > time.Hour+time.Second {
				t.Errorf("%s: expiry %v, want 1h0m1s", key, ttl)
			}
			client.Persist(ctx, key)
		}
	}
}

// commandsOfTheLog are all that the program asks the server for, and so the rights
// that its user needs beside EVAL and EVALSHA.
var commandsOfTheLog = map[string]int{
	"TIME": 1, "TYPE": 1, "ZRANGE": 2, "ZCOUNT": 2, "ZADD": 1, "ZREMRANGEBYSCORE": 1, "PEXPIRE": 1,
}

func TestLog_callsRedisWhereTheProbeAsksForIt(t *testing.T) {
	code, sum := comment.ReplaceAllString(program.SlidingLog.Source, ""), 0
	for command, times := range commandsOfTheLog {
		sum += times
		if got := strings.Count(code, "redis.call('"+command+"'"); got != times {
			t.Errorf("the log program calls %s in %d places, want %d", command, got, times)
		}
	}
	if got := strings.Count(code, "redis.call("); got != sum {
		t.Errorf("the log program calls Redis in %d places, want %d", got, sum)
	}
}
