package program_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/shared-contract/model"
)

const (
	logNow    = 1_767_225_600_123_457 // not round: miniredis writes a round score with an exponent
	logWindow = 60_000_000
)

// foreignLogs are what a key may hold that is no log: another type, or a newest
// score that is no time.
func foreignLogs() []state {
	var states []state
	for _, other := range foreignTypes() {
		if other.sentence != "the key is a zset" {
			states = append(states, other)
		}
	}
	states = append(states, state{"the key is a hash", func(t *testing.T, client *redis.Client, key string) {
		plant(t, client, key, "a", "1")
	}})
	for what, score := range map[string]string{
		"a fraction": "1767225600000000.5", "below zero": "-1", "beyond 2^53-1": "9007199254740992", "infinite": "+inf",
	} {
		states = append(states, state{"the newest score is " + what, func(t *testing.T, client *redis.Client, key string) {
			if err := client.Do(context.Background(), "ZADD", key, score, "planted").Err(); err != nil {
				t.Fatal(err)
			}
		}})
	}
	return states
}

// plantLog puts a log of these times in place of key.
func plantLog(t *testing.T, client *redis.Client, key string, times ...int64) {
	t.Helper()
	ctx := context.Background()
	client.Del(ctx, key)
	for _, at := range times {
		score := strconv.FormatInt(at, 10)
		if err := client.Do(ctx, "ZADD", key, score, score+"-0").Err(); err != nil {
			t.Fatal(err)
		}
	}
	client.PExpire(ctx, key, time.Hour)
}

func TestLog_aKeyThatIsNoLogIsRefusedAndBothAreLeftAlone(t *testing.T) {
	servers(t, func(t *testing.T, client *redis.Client) {
		for i, foreign := range foreignLogs() {
			id := strconv.Itoa(i)
			for name, keys := range map[string][]string{
				"alone": {"bad " + id}, "the outer": {"bad " + id, "good " + id}, "the inner": {"good " + id, "bad " + id},
			} {
				client.Del(context.Background(), "bad "+id)
				foreign.plant(t, client, "bad "+id)
				client.PExpire(context.Background(), "bad "+id, time.Hour)
				plantLog(t, client, "good "+id, logNow-2*logWindow, logNow-1)
				bad, good := content(t, client, "bad "+id), content(t, client, "good "+id)
				got := callLogOnce(t, client, keys, logNow, logWindow, []int64{5, 5}[:len(keys)])
				if got != "STATE_INCOMPATIBLE 0 0 0 0 0" {
					t.Errorf("%s, %s: got %s, want STATE_INCOMPATIBLE 0 0 0 0 0", foreign.sentence, name, got)
				}
				if after := content(t, client, "bad "+id); after != bad {
					t.Errorf("%s, %s: it became %.200s, was %.200s", foreign.sentence, name, after, bad)
				}
				if after := content(t, client, "good "+id); after != good {
					t.Errorf("%s, %s: the other log became %.200s, was %.200s", foreign.sentence, name, after, good)
				}
			}
		}
	})
}

// callLogOnce runs the log program at a set time and leaves the lifetimes as they
// are.
func callLogOnce(t *testing.T, client *redis.Client, keys []string, nowMicros, windowMicros int64, limits []int64) string {
	t.Helper()
	argv := []string{strconv.FormatInt(windowMicros, 10)}
	for _, limit := range limits {
		argv = append(argv, strconv.FormatInt(limit, 10))
	}
	timed := program.WithClock(program.SlidingLog, setClock)
	return text(eval(t, client, timed, keys, append(argv, strconv.FormatInt(nowMicros, 10))...))
}

// Denials and an unsafe clock change neither log, nor when it expires, however much
// in them no longer counts.
func TestLog_aDenialAndAnUnsafeClockWriteNothing(t *testing.T) {
	const dead = logNow - 2*logWindow
	rows := []struct {
		sentence     string
		now          int64
		outer, inner []int64
		limits       []int64
		status       model.Status
	}{
		{"the outer is full", logNow, []int64{dead, logNow - 5}, []int64{dead}, []int64{1, 5}, model.Denied},
		{"the inner is full", logNow, []int64{dead}, []int64{dead, logNow - 5}, []int64{5, 1}, model.Denied},
		{"both are full", logNow, []int64{dead, logNow - 5}, []int64{dead, logNow - 5}, []int64{1, 1}, model.Denied},
		{"the outer limit is 0", logNow, []int64{dead}, []int64{dead}, []int64{0, 5}, model.Denied},
		{"the inner limit is 0", logNow, []int64{dead}, []int64{dead}, []int64{5, 0}, model.Denied},
		{"a clock one window back denies", logNow - logWindow, []int64{dead, logNow}, []int64{dead}, []int64{1, 5}, model.Denied},
		{"the outer is too far ahead", logNow - logWindow - 1, []int64{dead, logNow}, []int64{dead}, []int64{5, 5}, model.ClockUnsafe},
		{"the inner is too far ahead", logNow - logWindow - 1, []int64{dead}, []int64{dead, logNow}, []int64{5, 5}, model.ClockUnsafe},
	}
	servers(t, func(t *testing.T, client *redis.Client) {
		for _, row := range rows {
			plantLog(t, client, "outer", row.outer...)
			plantLog(t, client, "inner", row.inner...)
			before := content(t, client, "outer") + content(t, client, "inner")
			for range 3 {
				got := callLogOnce(t, client, []string{"outer", "inner"}, row.now, logWindow, row.limits)
				if !strings.HasPrefix(got, string(row.status)+" ") {
					t.Errorf("%s: got %s, want %s", row.sentence, got, row.status)
				}
			}
			if after := content(t, client, "outer") + content(t, client, "inner"); after != before {
				t.Errorf("%s: left %s, was %s", row.sentence, after, before)
			}
		}
	})
}
