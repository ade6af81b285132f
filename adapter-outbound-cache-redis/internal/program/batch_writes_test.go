package program_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

func TestBatch_aDenialAndAnUnsafeClockWriteNothing(t *testing.T) {
	programtest.BatchKeepsStates(t, connect(t, redistest.Start(t).Addr()), "")
}

// What a batch makes the server do, by the server's own count: one look at the clock,
// one at each state, a write and a lifetime for each allow.
func TestBatch_readsTheClockOnceAndOnlyAnAllowWrites(t *testing.T) {
	client := connect(t, redistest.Start(t).Addr())
	for _, p := range programtest.Ordinary(t) {
		name := string(p.Algorithm().Name())
		keys := append(slices.Repeat([]string{name}, 12), name+" other", name+" other")
		if err := client.ConfigResetStat(context.Background()).Err(); err != nil {
			t.Fatal(err)
		}
		// On a clock that stands still, as the server's does within the batch.
		got := programtest.EvalBatch(t, client, program.RateBatch, keys, programtest.BatchArgs(p, slices.Repeat([]string{"1"}, len(keys))...)...)
		allows := 0
		for i, decision := range got {
			want := map[bool]string{true: "ALLOWED ", false: "DENIED "}[i < 10 || i > 11]
			if !strings.HasPrefix(decision, want) {
				t.Errorf("%s, decision %d: got %s, want %s", name, i, decision, want)
			}
			if want == "ALLOWED " {
				allows++
			}
		}
		for command, want := range map[string]int64{
			"eval": 1, "time": 1, "type": 0, "hgetall": int64(len(keys)), "hset": int64(allows), "pexpire": int64(allows),
		} {
			if got := calls(t, client, command); got != want {
				t.Errorf("%s: %d calls of %s, want %d", name, got, command, want)
			}
		}
	}
}

// The clock of a batch is the server's, in whole milliseconds, and one for all.
func TestBatch_decidesAllByOneClock(t *testing.T) {
	client := connect(t, redistest.Start(t).Addr())
	p := programtest.Policy(t, ratelimit.FixedWindow{Limit: ratelimit.MaxSafeInteger, Window: time.Hour})
	keys, costs := slices.Repeat([]string{"clock"}, program.MaxBatch), slices.Repeat([]string{"1"}, program.MaxBatch)
	millis := func() int64 { return client.Time(context.Background()).Val().UnixMilli() }
	for range 50 {
		before := millis()
		got := programtest.EvalBatch(t, client, program.RateBatch, keys, programtest.BatchArgs(p, costs...)...)
		after := millis()
		first := strings.Fields(got[0])[1]
		if now, err := strconv.ParseInt(first, 10, 64); err != nil || now < before || now > after {
			t.Fatalf("decided at %s, want %d to %d", first, before, after)
		}
		for _, decision := range got {
			if fields := strings.Fields(decision); fields[1] != first || fields[2] != first {
				t.Fatalf("%s beside one at %s", decision, first)
			}
		}
	}
}

// On a server that is full, those who are denied are answered so, each of those who
// would be charged gets the server's error, and nothing is charged.
func TestBatch_onAFullServerDecidesWhatNeedsNoWrite(t *testing.T) {
	client := connect(t, redistest.Start(t).Addr())
	ctx := context.Background()
	for _, p := range programtest.Ordinary(t) {
		for _, key := range []string{"used", "foreign", "state"} {
			client.ConfigSet(ctx, "maxmemory", "0")
			client.Del(ctx, key)
		}
		programtest.PlantUsed(t, client, p, "used", programtest.StateNowMillis)
		client.Set(ctx, "foreign", "1", 0)
		programtest.Plant(t, client, "state", programtest.LegalFields(p)...)
		before := programtest.Content(t, client, "state")
		if err := client.ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
			t.Fatal(err)
		}
		keys := []string{"used", "fresh", "state", "foreign", "used", "used"}
		got := programtest.EvalBatch(t, client, programtest.TimedBatch, keys, append(programtest.BatchArgs(p, "1", "1", "1", "1", "0", "1"), stateNow)...)
		for i, want := range []string{"DENIED ", "OOM ", "OOM ", "STATE_INCOMPATIBLE ", "INVALID ", "DENIED "} {
			if !strings.HasPrefix(got[i], want) {
				t.Errorf("%s, %s: got %s, want %s", p.Algorithm().Name(), keys[i], got[i], want)
			}
		}
		if after := programtest.Content(t, client, "state"); after != before || client.Exists(ctx, "fresh").Val() != 0 {
			t.Errorf("%s: something was charged: %s, was %s", p.Algorithm().Name(), after, before)
		}
	}
}

// TestBatch_aKeyThatExpiresUnderTheProgramNeverConfusesIt runs the production text on
// keys that live a millisecond, many times each in one batch.
func TestBatch_aKeyThatExpiresUnderTheProgramNeverConfusesIt(t *testing.T) {
	client := connect(t, redistest.Start(t).Addr())
	for _, algorithm := range []ratelimit.Algorithm{
		ratelimit.FixedWindow{Limit: 5, Window: time.Millisecond},
		ratelimit.SlidingWindowCounter{Limit: 5, Window: time.Millisecond},
		ratelimit.TokenBucket{Capacity: 5, RefillTokens: 5, RefillPeriod: time.Millisecond},
	} {
		t.Run(string(algorithm.Name()), func(t *testing.T) {
			p := programtest.Policy(t, algorithm)
			if err := client.ScriptLoad(context.Background(), program.RateBatch.Source).Err(); err != nil {
				t.Fatal(err)
			}
			var load sync.WaitGroup
			for range 4 {
				load.Go(func() { hammerBatch(t, client, p) })
			}
			load.Wait()
			if ttl := client.PTTL(context.Background(), brief(p)).Val(); ttl == -1 {
				t.Error("a key without an expiry is left")
			}
		})
	}
}

// hammerBatch runs batches on one key and demands that every reply is possible.
func hammerBatch(t *testing.T, client *redis.Client, p ratelimit.Policy) {
	ctx := context.Background()
	keys, costs := slices.Repeat([]string{brief(p)}, program.MaxBatch), slices.Repeat([]string{"1"}, program.MaxBatch)
	args := programtest.Command("EVALSHA", program.RateBatch.SHA, keys, programtest.BatchArgs(p, costs...))
	for range hammerRounds {
		pipe := client.Pipeline()
		runs := make([]*redis.RawCmd, hammerRuns/10)
		for i := range runs {
			runs[i] = redis.NewRawCmd(ctx, args...)
			_ = pipe.Process(ctx, runs[i])
		}
		if _, err := pipe.Exec(ctx); err != nil {
			t.Error(err)
			return
		}
		for _, run := range runs {
			demandPossibleBatch(t, run.Val(), p)
		}
	}
}

func demandPossibleBatch(t *testing.T, raw []byte, p ratelimit.Policy) {
	parts, err := reply.Split(raw, program.MaxBatch)
	if err != nil {
		t.Errorf("%q: %v", raw, err)
		return
	}
	for range program.MaxBatch {
		demandPossible(t, parts.Next(), p)
	}
}
