package program_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
)

// The production clock is the server's, in whole milliseconds, rounded down.
func TestClock_isTheServersInMilliseconds(t *testing.T) {
	servers(t, func(t *testing.T, client *redis.Client) {
		millis := func() int64 {
			now, err := client.Time(context.Background()).Result()
			if err != nil {
				t.Fatal(err)
			}
			return now.UnixMilli()
		}
		for _, p := range programtest.Ordinary(t) {
			run := program.For(p.Algorithm())
			for range 100 {
				before := millis()
				got := programtest.Eval(t, client, run, []string{run.Name}, append(program.PolicyArgs(p), "1")...)
				if now := got[1].(int64); now < before || now > millis() {
					t.Fatalf("%s ran at %d, want %d to %d", run.Name, now, before, millis())
				}
			}
		}
	})
}
