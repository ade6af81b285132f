package program_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/contracttest"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

const (
	batchTimelines = 100
	batchSteps     = 60 // batches of a timeline
	batchKeys      = 4
)

// TestWalk_aBatchDecidesAsTheModelAndTheSinglePrograms walks batches over a few keys,
// each key often more than once in a batch, beside the single programs on keys of
// their own: every reply, every stored field, every lifetime. The first key takes the
// steps that the walk aims, the others what fits their states.
func TestWalk_aBatchDecidesAsTheModelAndTheSinglePrograms(t *testing.T) {
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
			walk, random := contracttest.NewWalk(seed, algorithm), rand.New(rand.NewPCG(seed, 1))
			var coverage contracttest.Coverage
			for n := range batchTimelines {
				w := &batchWalk{
					t: t, client: client, random: random, name: fmt.Sprintf("%s %d", algorithm, n),
					timeline: walk.Next(batchSteps), coverage: &coverage,
				}
				w.agree()
			}
			t.Logf("\n%s", coverage.Report())
			if err := coverage.Check(walkLeast); err != nil {
				t.Error(err)
			}
		})
	}
}

// batchWalk is one timeline of batches.
type batchWalk struct {
	t        *testing.T
	client   *redis.Client
	random   *rand.Rand
	name     string
	timeline contracttest.Timeline
	coverage *contracttest.Coverage
	kept     [batchKeys]kept
}

// kept is what a key should hold after a batch, and the lifetimes that the batch should give it, one an allow.
type kept struct {
	state model.State
	given []int64
}

// member is one decision of a batch.
type member struct {
	key  int
	cost int64
	want model.Reply
}

// batchFootprint is what one batch and its singles left on the server.
type batchFootprint struct {
	now     int64
	members []member
	kept    [batchKeys]kept
	batch   *redis.Cmd
	singles []*redis.Cmd
	stored  [2 * batchKeys]*redis.MapStringStringCmd
	given   [2 * batchKeys]programtest.Given
}

// names of a key: of the batch, then of the single program.
func (w *batchWalk) names(key int) [2]string {
	return [2]string{fmt.Sprintf("%s batch %d", w.name, key), fmt.Sprintf("%s single %d", w.name, key)}
}

func (w *batchWalk) agree() {
	w.t.Helper()
	ctx := context.Background()
	single := program.WithClock(program.For(w.timeline.Policy.Algorithm()), programtest.SetClock)
	for _, run := range []program.Program{single, programtest.TimedBatch} {
		if err := w.client.ScriptLoad(ctx, run.Source).Err(); err != nil {
			w.t.Fatal(err)
		}
	}
	pipe := w.client.Pipeline()
	var left []batchFootprint
	for _, step := range w.timeline.Steps {
		if step.Plant != nil {
			w.plant(pipe, *step.Plant)
		}
		f := batchFootprint{now: step.NowMillis, members: w.members(step)}
		f.kept = w.kept
		w.send(pipe, single, &f)
		left = append(left, f)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		w.t.Fatal(err)
	}
	for _, f := range left {
		w.compare(f)
	}
}

// plantedMillis is the lifetime of a state that a walk plants.
const plantedMillis = 7_200_000

// plant puts a state in place of the first key's, with a lifetime as any state has.
func (w *batchWalk) plant(pipe redis.Pipeliner, s model.State) {
	ctx := context.Background()
	w.kept[0] = kept{state: s}
	for _, name := range w.names(0) {
		pipe.Del(ctx, name)
		if s.Exists {
			pipe.HSet(ctx, name, programtest.StateFields(w.timeline.Policy, s))
			pipe.Do(ctx, "PEXPIRE", name, plantedMillis)
		}
	}
}

// members are the decisions of one batch, the aimed one among them, by the model.
func (w *batchWalk) members(aimed contracttest.Step) []member {
	n := 1 + w.random.IntN(6)
	if w.random.IntN(10) == 0 {
		n = 1 + w.random.IntN(program.MaxBatch)
	}
	m := model.New(w.timeline.Policy)
	for i := range w.kept {
		w.kept[i].given = nil
	}
	members := make([]member, n)
	aim := w.random.IntN(n)
	first, _, _ := m.Step(w.kept[0].state, aimed.NowMillis, aimed.Cost)
	again := first.Status != model.Allowed // then it may be asked again and changes nothing
	for i := range members {
		key, cost := 0, aimed.Cost
		if i != aim && !(again && w.random.IntN(3) == 0) {
			key = 1 + w.random.IntN(batchKeys-1)
			cost = w.cost(m, w.kept[key].state, aimed.NowMillis)
		}
		k := &w.kept[key]
		want, after, ttl := m.Step(k.state, aimed.NowMillis, cost)
		w.coverage.Count(w.timeline.Policy, k.state, want)
		if want.Status == model.Allowed {
			k.given = append(k.given, ttl)
		}
		k.state = after
		members[i] = member{key, cost, want}
	}
	return members
}

// cost is one that just fits, just does not, or is any.
func (w *batchWalk) cost(m model.Model, s model.State, now int64) int64 {
	limit := w.timeline.Policy.Limit()
	whole, _, _ := m.Step(s, now, limit)
	switch w.random.IntN(8) {
	case 0:
		return min(limit, whole.Remaining+1)
	case 1:
		return max(1, whole.Remaining)
	case 2:
		return 1 + w.random.Int64N(limit)
	case 3:
		return []int64{0, -1, limit + 1, ratelimit.MaxSafeInteger + 1}[w.random.IntN(4)]
	default:
		return 1
	}
}

// send sends the batch, the same decisions one by one, and asks for what they left.
func (w *batchWalk) send(pipe redis.Pipeliner, single program.Program, f *batchFootprint) {
	ctx, now := context.Background(), programtest.Decimal(f.now)
	var keys, costs []string
	for _, m := range f.members {
		keys, costs = append(keys, w.names(m.key)[0]), append(costs, programtest.Decimal(m.cost))
	}
	f.batch = pipe.Do(ctx, programtest.Command("EVALSHA", programtest.TimedBatch.SHA, keys, append(programtest.BatchArgs(w.timeline.Policy, costs...), now))...)
	for i, m := range f.members {
		argv := append(program.PolicyArgs(w.timeline.Policy), costs[i], now)
		f.singles = append(f.singles, pipe.Do(ctx, programtest.Command("EVALSHA", single.SHA, []string{w.names(m.key)[1]}, argv)...))
	}
	for key := range batchKeys {
		for i, name := range w.names(key) {
			f.stored[2*key+i] = pipe.HGetAll(ctx, name)
			f.given[2*key+i] = programtest.GivenTo(pipe, name)
		}
	}
}

func (w *batchWalk) compare(f batchFootprint) {
	w.t.Helper()
	decisions, err := f.batch.Slice()
	if err != nil || len(decisions) != len(f.members) {
		w.t.Fatalf("at %d by %+v: %d decisions, %v", f.now, w.timeline.Policy, len(decisions), err)
	}
	for i, m := range f.members {
		fields, _ := decisions[i].([]any)
		if got, one := programtest.Text(fields), programtest.Text(f.singles[i].Val().([]any)); got != programtest.Line(m.want) || one != got {
			w.t.Fatalf("at %d by %+v, member %d, cost %d:\n got %s\nwant %s\nthe single program says %s",
				f.now, w.timeline.Policy, i, m.cost, got, programtest.Line(m.want), one)
		}
	}
	for key, k := range f.kept {
		want := fmt.Sprint(programtest.StateFields(w.timeline.Policy, k.state))
		for i, name := range w.names(key) {
			given := f.given[2*key+i]
			if got := fmt.Sprint(f.stored[2*key+i].Val()); got != want {
				w.t.Fatalf("at %d by %+v, %s: stored %s, want %s", f.now, w.timeline.Policy, name, got, want)
			}
			if got := given.Millis(w.t); !slices.Equal(got, k.given) || given.Ends(w.t) != k.state.Exists {
				w.t.Fatalf("at %d by %+v, %s: lifetimes %d, will expire %t; want %d, %t",
					f.now, w.timeline.Policy, name, got, given.Ends(w.t), k.given, k.state.Exists)
			}
		}
	}
}
