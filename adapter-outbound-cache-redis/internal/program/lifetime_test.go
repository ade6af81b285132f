package program_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// TestLifetime_aKeyThatExpiresUnderTheProgramNeverConfusesIt runs the production
// text on keys that live a millisecond. On servers before 7.2 such a key can
// expire, and TIME moves on, within one run.
func TestLifetime_aKeyThatExpiresUnderTheProgramNeverConfusesIt(t *testing.T) {
	client := connect(t, redistest.Start(t).Addr())
	for _, algorithm := range []ratelimit.Algorithm{
		ratelimit.FixedWindow{Limit: 5, Window: time.Millisecond},
		ratelimit.SlidingWindowCounter{Limit: 5, Window: time.Millisecond},
		ratelimit.TokenBucket{Capacity: 5, RefillTokens: 5, RefillPeriod: time.Millisecond},
	} {
		t.Run(string(algorithm.Name()), func(t *testing.T) {
			p := programtest.Policy(t, algorithm)
			if err := client.ScriptLoad(context.Background(), program.For(algorithm).Source).Err(); err != nil {
				t.Fatal(err)
			}
			var load sync.WaitGroup
			for range 4 {
				load.Go(func() { hammer(t, client, p) })
			}
			load.Wait()
			if ttl := client.PTTL(context.Background(), brief(p)).Val(); ttl == -1 {
				t.Error("a key without an expiry is left")
			}
		})
	}
}

const (
	hammerRounds = 10
	hammerRuns   = 250
)

// brief is a key of p's algorithm alone.
func brief(p ratelimit.Policy) string { return "brief:" + string(p.Algorithm().Name()) }

// hammer runs p's program in pipelines and demands that every reply is possible.
func hammer(t *testing.T, client *redis.Client, p ratelimit.Policy) {
	ctx := context.Background()
	args := []any{"EVALSHA", program.For(p.Algorithm()).SHA, 1, brief(p)}
	for _, arg := range append(program.PolicyArgs(p), "1") {
		args = append(args, arg)
	}
	for range hammerRounds {
		pipe := client.Pipeline()
		runs := make([]*redis.RawCmd, hammerRuns)
		for i := range runs {
			runs[i] = redis.NewRawCmd(ctx, args...)
			_ = pipe.Process(ctx, runs[i])
		}
		if _, err := pipe.Exec(ctx); err != nil {
			t.Error(err)
			return
		}
		for _, run := range runs {
			demandPossible(t, run.Val(), p)
		}
	}
}

func demandPossible(t *testing.T, raw []byte, p ratelimit.Policy) {
	r, err := reply.Decode(raw, p.Limit())
	possible := err == nil && r.EffectiveNowMillis == r.ServerNowMillis && r.ResetAtMillis > r.ServerNowMillis
	switch r.Status {
	case model.Allowed:
		possible = possible && r.Remaining < r.Limit
	case model.Denied:
		possible = possible && r.Remaining == 0 && r.ServerNowMillis+r.RetryAfterMillis <= r.ResetAtMillis
	default:
		possible = false
	}
	if !possible {
		t.Errorf("impossible: %q (%v)", raw, err)
	}
}
