package program_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/contracttest"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

var walkSeed = flag.Uint64("walk.seed", 0, "walk by this seed; 0 draws one")

const (
	walkTimelines = 240
	walkSteps     = 100 // a timeline
	walkLeast     = 500 // times that a walk must come through each feature
)

// TestWalk_modelAndLuaAgree walks both readings side by side on a real server:
// every reply, every stored number, every lifetime.
func TestWalk_modelAndLuaAgree(t *testing.T) {
	client := connect(t, redistest.Start(t).Addr())
	for _, algorithm := range []ratelimit.AlgorithmName{
		ratelimit.NameFixedWindow, ratelimit.NameSlidingWindowCounter, ratelimit.NameTokenBucket,
	} {
		t.Run(string(algorithm), func(t *testing.T) {
			t.Parallel()
			seed := *walkSeed
			if seed == 0 {
				seed = rand.Uint64()
			}
			t.Logf("walked by -walk.seed=%d", seed)
			walk := contracttest.NewWalk(seed, algorithm)
			var coverage contracttest.Coverage
			for n := range walkTimelines {
				luaWalk{programtest.Bed{T: t, Client: client, Key: fmt.Sprintf("%s %d", algorithm, n)}, walk.Next(walkSteps)}.agree(&coverage)
			}
			t.Logf("\n%s", coverage.Report())
			if err := coverage.Check(walkLeast); err != nil {
				t.Error(err)
			}
		})
	}
}

// luaWalk is one timeline on one key.
type luaWalk struct {
	programtest.Bed
	timeline contracttest.Timeline
}

// footprint is what one step answered, and what it left on the server.
type footprint struct {
	reply *redis.Cmd
	given programtest.Given
	state *redis.MapStringStringCmd
}

func (w luaWalk) agree(coverage *contracttest.Coverage) {
	w.T.Helper()
	p := w.timeline.Policy
	m := model.New(p)
	var state model.State
	for i, left := range w.run() {
		step := w.timeline.Steps[i]
		if step.Plant != nil {
			state = *step.Plant
		}
		want, after, wantTTL := m.Step(state, step.NowMillis, step.Cost)
		reply, stored := w.Decode(left.reply), left.state.Val()
		if reply != want || fmt.Sprint(stored) != fmt.Sprint(programtest.StateFields(p, after)) {
			w.T.Fatalf("step %d, %+v by %+v\non %+v:\n got %+v\n     %v\nwant %+v\n     %v",
				i, step, p, state, reply, stored, want, programtest.StateFields(p, after))
		}
		if ttl := left.given.One(w.T); ttl != wantTTL {
			w.T.Fatalf("step %d, %+v by %+v: lifetime %d, want %d", i, step, p, ttl, wantTTL)
		}
		coverage.Count(p, state, want)
		state = after
	}
}

// run takes all steps in one transaction, within which no key expires.
func (w luaWalk) run() []footprint {
	w.T.Helper()
	ctx, p := context.Background(), w.timeline.Policy
	timed := program.WithClock(program.For(p.Algorithm()), programtest.SetClock)
	if err := w.Client.ScriptLoad(ctx, timed.Source).Err(); err != nil {
		w.T.Fatal(err)
	}
	tx := w.Client.TxPipeline()
	left := make([]footprint, 0, len(w.timeline.Steps))
	for _, step := range w.timeline.Steps {
		if step.Plant != nil {
			tx.Del(ctx, w.Key)
			if step.Plant.Exists {
				tx.HSet(ctx, w.Key, programtest.StateFields(p, *step.Plant))
			}
		}
		args := []any{"EVALSHA", timed.SHA, 1, w.Key}
		for _, arg := range program.PolicyArgs(p) {
			args = append(args, arg)
		}
		ran := tx.Do(ctx, append(args, step.Cost, step.NowMillis)...)
		left = append(left, footprint{ran, programtest.GivenTo(tx, w.Key), tx.HGetAll(ctx, w.Key)})
		tx.Persist(ctx, w.Key)
	}
	tx.Del(ctx, w.Key)
	if _, err := tx.Exec(ctx); err != nil {
		w.T.Fatal(err)
	}
	return left
}
