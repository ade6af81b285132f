package program_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog/slidinglogtest"
)

// TestWalk_logModelAndLuaAgree walks both readings of the log side by side on a
// real server: every reply, every member of every log, every lifetime.
func TestWalk_logModelAndLuaAgree(t *testing.T) {
	client := connect(t, redistest.Start(t).Addr())
	seed := *walkSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("walked by -walk.seed=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var coverage slidinglogtest.Coverage
	for n := range walkTimelines {
		w := newLogWalk(random, n)
		var steps []logWalkStep
		for range walkSteps {
			steps = append(steps, w.next(&coverage))
		}
		w.agree(t, client, steps)
	}
	t.Logf("\n%s", coverage.Report())
	if err := coverage.Check(walkLeast); err != nil {
		t.Error(err)
	}
}

// logWalk is one timeline of one tenant and its users, as the model sees it.
type logWalk struct {
	random *rand.Rand
	window int64 // microseconds
	most   int64 // a limit is below it
	now    int64
	keys   []string // the first is the tenant's
	logs   map[string]*slidinglog.Log
	kept   map[string][]int64 // the times that each log must hold
}

func newLogWalk(random *rand.Rand, n int) *logWalk {
	windows := []int64{1, 2, 999, 1000, 1001, 1500, 20_000, 1_000_000, 60_000_000, 3_600_000_000, 31_622_400_000_000}
	tenant := fmt.Sprintf("walk-%d", n)
	w := &logWalk{
		random: random, window: windows[n%len(windows)], most: 2 + random.Int64N(8), now: programtest.LogNow,
		keys: []string{tenant, tenant + ":user:ann", tenant + ":user:bob", tenant + ":key:ann"},
		logs: map[string]*slidinglog.Log{}, kept: map[string][]int64{},
	}
	for _, key := range w.keys {
		w.logs[key] = &slidinglog.Log{}
	}
	return w
}

// logWalkStep is one call, what the program must answer, and what it must leave in
// the logs that it was called with.
type logWalkStep struct {
	keys    []string
	limits  []int64
	now     int64
	want    string
	members [][]string
	ttl     int64 // 0: no lifetime is set
}

func (w *logWalk) next(coverage *slidinglogtest.Coverage) logWalkStep {
	w.now += w.stride()
	s := logWalkStep{keys: w.keys[:1], now: w.now}
	switch w.random.IntN(10) {
	case 0, 1: // the tenant alone
	case 2: // a user alone
		s.keys = []string{w.keys[1+w.random.IntN(3)]}
	default:
		s.keys = []string{w.keys[0], w.keys[1+w.random.IntN(3)]}
	}
	held := w.now
	for i, key := range s.keys {
		limit := w.random.Int64N(w.most) + w.most/2*int64(1-i)
		if w.random.IntN(50) == 0 {
			limit = 100_000
		}
		s.limits = append(s.limits, limit)
		newest, _ := w.logs[key].Newest()
		held = max(held, newest)
	}
	v, err := w.model(s)
	coverage.Count(slidinglogtest.Passed{Dual: len(s.keys) == 2, Held: held > w.now, Verdict: v, Err: err})
	switch {
	case errors.Is(err, slidinglog.ErrClockUnsafe):
		s.want = "CLOCK_UNSAFE 0 0 0 0 0"
		w.now = held // or the walk would rest here
	case v.Allowed:
		s.want, s.ttl = logAnswer(model.Allowed, v), (w.window+999)/1000+1000
		w.count(s.keys, held)
	default:
		s.want = logAnswer(model.Denied, v)
	}
	for _, key := range s.keys {
		s.members = append(s.members, membersOf(w.kept[key]))
	}
	return s
}

// stride is how far the clock goes before a call.
func (w *logWalk) stride() int64 {
	switch n := w.random.IntN(100); {
	case n < 25:
		return 0
	case n < 55:
		return w.random.Int64N(w.window/4 + 1)
	case n < 70: // to where some call stops counting, or just beside it
		if kept := w.kept[w.keys[w.random.IntN(len(w.keys))]]; len(kept) > 0 {
			return kept[w.random.IntN(len(kept))] + w.window - w.now + w.random.Int64N(3) - 1
		}
		return 1
	case n < 78:
		return w.random.Int64N(3 * w.window)
	case n < 92:
		return -w.random.Int64N(w.window/2 + 1)
	default:
		return -w.random.Int64N(3 * w.window)
	}
}

func (w *logWalk) model(s logWalkStep) (slidinglog.Verdict, error) {
	window := time.Duration(w.window) * time.Microsecond
	if len(s.keys) == 1 {
		return slidinglog.Allow(window, s.now, w.logs[s.keys[0]], int(s.limits[0]))
	}
	return slidinglog.AllowDual(window, s.now, w.logs[s.keys[0]], int(s.limits[0]), w.logs[s.keys[1]], int(s.limits[1]))
}

// count keeps what each log must hold after a call that was counted at.
func (w *logWalk) count(keys []string, at int64) {
	for _, key := range keys {
		live := slices.DeleteFunc(w.kept[key], func(call int64) bool { return call+w.window <= at })
		w.kept[key] = append(live, at)
	}
}

// membersOf are the members of a log of these times, each with its score, sorted as
// text.
func membersOf(times []int64) []string {
	var members []string
	same := 0
	for i, at := range times {
		if same++; i == 0 || times[i-1] != at {
			same = 0
		}
		members = append(members, fmt.Sprintf("%d-%d at %d", at, same, at))
	}
	slices.Sort(members)
	return members
}

// scored are the members that a server told of, as membersOf writes them.
func scored(members []redis.Z) []string {
	var all []string
	for _, z := range members {
		all = append(all, fmt.Sprintf("%v at %.0f", z.Member, z.Score))
	}
	slices.Sort(all)
	return all
}

func logAnswer(status model.Status, v slidinglog.Verdict) string {
	return fmt.Sprintf("%s %d %d %d %d %d", status, v.Outer.Remaining, v.Inner.Remaining,
		v.RetryAfter.Milliseconds(), v.Outer.ResetAfter.Milliseconds(), v.Inner.ResetAfter.Milliseconds())
}

// logFootprint is what one call answered and left in the logs that it was called
// with.
type logFootprint struct {
	ran   *redis.Cmd
	holds []*redis.ZSliceCmd
	given []programtest.Given
}

// run takes all steps in one transaction, within which no key expires.
func (w *logWalk) run(t *testing.T, client *redis.Client, steps []logWalkStep) []logFootprint {
	t.Helper()
	ctx := context.Background()
	timed := program.WithClock(program.SlidingLog, programtest.SetClock)
	if err := client.ScriptLoad(ctx, timed.Source).Err(); err != nil {
		t.Fatal(err)
	}
	tx := client.TxPipeline()
	left := make([]logFootprint, len(steps))
	for i, s := range steps {
		args := []any{"EVALSHA", timed.SHA, len(s.keys)}
		for _, key := range s.keys {
			args = append(args, key)
		}
		args = append(args, w.window)
		for _, limit := range s.limits {
			args = append(args, limit)
		}
		left[i].ran = tx.Do(ctx, append(args, s.now)...)
		for _, key := range s.keys {
			left[i].holds = append(left[i].holds, tx.ZRangeWithScores(ctx, key, 0, -1))
			left[i].given = append(left[i].given, programtest.GivenTo(tx, key))
			tx.Persist(ctx, key)
		}
	}
	tx.Del(ctx, w.keys...)
	if _, err := tx.Exec(ctx); err != nil {
		t.Fatal(err)
	}
	return left
}

func (w *logWalk) agree(t *testing.T, client *redis.Client, steps []logWalkStep) {
	t.Helper()
	for i, left := range w.run(t, client, steps) {
		s := steps[i]
		values, _ := left.ran.Slice()
		if got := programtest.Text(values); got != s.want {
			t.Fatalf("step %d, window %d, %+v:\n got %s\nwant %s", i, w.window, s, got, s.want)
		}
		for j, key := range s.keys {
			if got := scored(left.holds[j].Val()); !slices.Equal(got, s.members[j]) {
				t.Fatalf("step %d, window %d, %+v: %s holds\n     %v\nwant %v", i, w.window, s, key, got, s.members[j])
			}
			if ttl := left.given[j].One(t); ttl != s.ttl {
				t.Fatalf("step %d, window %d, %+v: lifetime of %s is %d, want %d", i, w.window, s, key, ttl, s.ttl)
			}
		}
	}
}
