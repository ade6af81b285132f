package program_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

func TestWrites_aDenialAndAnUnsafeClockWriteNothing(t *testing.T) {
	servers(t, func(t *testing.T, client *redis.Client) { programtest.KeepsStates(t, client, "") })
}

// What each evaluation makes the server do, by the server's own count.
func TestWrites_eachRunReadsTheClockOnceAndOnlyAnAllowWrites(t *testing.T) {
	client := connect(t, redistest.Start(t).Addr())
	for _, p := range programtest.Ordinary(t) {
		run := program.For(p.Algorithm())
		allows, denials := int64(p.Limit()), int64(5)
		if err := client.ConfigResetStat(context.Background()).Err(); err != nil {
			t.Fatal(err)
		}
		for n := range allows + denials {
			got := programtest.Eval(t, client, run, []string{run.Name}, append(program.PolicyArgs(p), "1")...)
			if want := map[bool]string{true: "ALLOWED", false: "DENIED"}[n < allows]; got[0] != want {
				t.Fatalf("%s, call %d: got %s, want %s", run.Name, n, programtest.Text(got), want)
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

// lifetime is what the last decision gave a key, 0 for none.
func lifetime(t *testing.T, client *redis.Client, key string) int64 {
	t.Helper()
	pipe := client.Pipeline()
	given := programtest.GivenTo(pipe, key)
	if _, err := pipe.Exec(context.Background()); err != nil {
		t.Fatal(err)
	}
	return given.One(t)
}

// An expiry that another client took away comes back with the next allow: until reset and the grace after it.
func TestWrites_everyAllowSetsTheLifetime(t *testing.T) {
	servers(t, func(t *testing.T, client *redis.Client) {
		for _, p := range programtest.Ordinary(t) {
			timed := program.WithClock(program.For(p.Algorithm()), programtest.SetClock)
			for range 3 {
				got := programtest.Eval(t, client, timed, []string{timed.Name}, append(program.PolicyArgs(p), "3", stateNow)...)
				want := got[6].(int64) - programtest.StateNowMillis + p.CleanupGrace().Milliseconds()
				if ttl := lifetime(t, client, timed.Name); got[0] != "ALLOWED" || ttl != want {
					t.Errorf("%s: got %s, lifetime %d, want %d", timed.Name, programtest.Text(got), ttl, want)
				}
				client.Persist(context.Background(), timed.Name)
			}
		}
	})
}
