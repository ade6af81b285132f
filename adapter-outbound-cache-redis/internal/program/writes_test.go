package program_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// used is the state of ordinary's policies in which nothing is left, and the
// instant at which it was.
func used(name string) []string {
	return map[string][]string{
		program.FixedWindow.Name:    {"consumed", "10"},
		program.SlidingCounter.Name: {"previous", "0", "current", "10"},
		program.TokenBucket.Name:    {"tokens", "999", "remainder", "0"},
	}[name]
}

func TestWrites_aDenialAndAnUnsafeClockWriteNothing(t *testing.T) {
	servers(t, func(t *testing.T, client *redis.Client) {
		for _, p := range ordinary(t) {
			timed := program.WithClock(program.For(p.Algorithm()), setClock)
			for _, row := range []struct {
				status   string
				observed int64
			}{
				{"DENIED", stateNowMillis},
				{"DENIED", stateNowMillis + 2000},       // the clock is held
				{"CLOCK_UNSAFE", stateNowMillis + 2001}, // and no further
			} {
				fields := append([]string{"schema", program.Schema(p), "observed", decimal(row.observed)}, used(timed.Name)...)
				plant(t, client, timed.Name, fields...)
				client.PExpire(context.Background(), timed.Name, time.Hour)
				before := content(t, client, timed.Name)
				for range 3 {
					got := eval(t, client, timed, []string{timed.Name}, append(program.PolicyArgs(p), "1", strconv.Itoa(stateNowMillis))...)
					if got[0] != row.status {
						t.Errorf("%s observed at %d: got %s, want %s", timed.Name, row.observed, text(got), row.status)
					}
				}
				if after := content(t, client, timed.Name); after != before {
					t.Errorf("%s: %s left %s, was %s", timed.Name, row.status, after, before)
				}
			}
		}
	})
}

// What each evaluation makes the server do, by the server's own count.
func TestWrites_eachRunReadsTheClockOnceAndOnlyAnAllowWrites(t *testing.T) {
	client := connect(t, redistest.Start(t).Addr())
	for _, p := range ordinary(t) {
		run := program.For(p.Algorithm())
		allows, denials := int64(p.Limit()), int64(5)
		if err := client.ConfigResetStat(context.Background()).Err(); err != nil {
			t.Fatal(err)
		}
		for n := range allows + denials {
			got := eval(t, client, run, []string{run.Name}, append(program.PolicyArgs(p), "1")...)
			if want := map[bool]string{true: "ALLOWED", false: "DENIED"}[n < allows]; got[0] != want {
				t.Fatalf("%s, call %d: got %s, want %s", run.Name, n, text(got), want)
			}
		}
		for command, want := range map[string]int64{
			"eval": allows + denials, "time": allows + denials, "type": allows + denials,
			"hgetall": allows + denials - 1, // no key, no read
			"hset":    allows, "pexpire": allows,
		} {
			if got := calls(t, client, command); got != want {
				t.Errorf("%s: %d calls of %s, want %d", run.Name, got, command, want)
			}
		}
	}
}

// An expiry that another client took away comes back with the next allow.
func TestWrites_everyAllowSetsTheLifetime(t *testing.T) {
	servers(t, func(t *testing.T, client *redis.Client) {
		for _, p := range ordinary(t) {
			timed := program.WithClock(program.For(p.Algorithm()), setClock)
			for range 3 {
				got := eval(t, client, timed, []string{timed.Name}, append(program.PolicyArgs(p), "3", strconv.Itoa(stateNowMillis))...)
				ttl := time.Duration(lifetime(client.PTTL(context.Background(), timed.Name).Val().Milliseconds())) * time.Millisecond
				if got[0] != "ALLOWED" || ttl <= p.CleanupGrace() || ttl > p.LongestState() {
					t.Errorf("%s: got %s, expiry %v, want more than %v", timed.Name, text(got), ttl, p.CleanupGrace())
				}
				client.Persist(context.Background(), timed.Name)
			}
		}
	})
}
