package promises_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/vectors"
)

// telling is a timeline of calls and what each gave its keys.
type telling struct {
	*scene
	pipe redis.Pipeliner
	told []func() // compares one once the pipe has run
}

func (s *scene) telling() *telling { return &telling{scene: s, pipe: s.client.Pipeline()} }

// call runs a program, and then demands the lifetime in milliseconds that each key was given, 0 for none.
func (l *telling) call(text string, keys, argv []string, want int64, what string) {
	ctx := context.Background()
	ran := l.pipe.Do(ctx, programtest.Command("EVAL", text, keys, argv)...)
	for _, key := range keys {
		given := programtest.GivenTo(l.pipe, key)
		l.told = append(l.told, func() {
			if err := ran.Err(); err != nil {
				l.Errorf("%s: %v", what, err)
			}
			if got := given.One(l.T); got != want {
				l.Errorf("%s: %s was given %d, want %d", what, key, got, want)
			}
		})
	}
}

// end runs the timeline and answers how many lifetimes there were, and not.
func (l *telling) end() int {
	l.Helper()
	if _, err := l.pipe.Exec(context.Background()); err != nil {
		l.Fatal(err)
	}
	for _, compare := range l.told {
		compare()
	}
	return len(l.told)
}

// Every lifetime of the vectors to the millisecond, as PEXPIRE is told it: until reset and the grace after it.
func exactLifetimes(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	set, err := vectors.All()
	if err != nil {
		t.Fatal(err)
	}
	batch, lifetimes := programtest.TimedBatch, 0
	for _, v := range set.Edge {
		single, l := program.WithClock(program.For(v.Policy.Algorithm()), programtest.SetClock), s.telling()
		for i, step := range v.Steps {
			argv := append(program.PolicyArgs(v.Policy), programtest.Decimal(step.Cost), programtest.Decimal(step.ServerNowMillis))
			what := fmt.Sprintf("%s, step %d", v.Name, i)
			l.call(single.Source, []string{s.key(v.Name)}, argv, step.TTLMillis, what)
			l.call(batch.Source, []string{s.key("batch " + v.Name)}, argv, step.TTLMillis, what+", by the batch")
		}
		lifetimes += l.end()
	}
	for _, v := range set.Logs {
		run, l := program.WithClock(program.SlidingLog, programtest.SetClock), s.telling()
		for i, step := range v.Steps {
			keys := []string{s.key(v.Name), s.key(v.Name + " " + step.User)}[2-v.Layers:]
			argv := []string{programtest.Decimal(v.WindowMicros)}
			for _, limit := range step.Limits {
				argv = append(argv, programtest.Decimal(limit))
			}
			argv = append(argv, programtest.Decimal(step.NowMicros))
			l.call(run.Source, keys, argv, step.TTLMillis, fmt.Sprintf("%s, step %d", v.Name, i))
		}
		lifetimes += l.end()
	}
	for _, key := range s.keys() {
		if left := s.do("PTTL", key); left == int64(-1) {
			t.Errorf("%s lives for ever", key)
		}
	}
	evidence.Record(t, "lifetimes compared to the millisecond", "%d", lifetimes)
}

// A log lives a window, rounded up to milliseconds, and a second.
func logLifetimes(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	run, l := program.WithClock(program.SlidingLogDual, programtest.SetClock), s.telling()
	for window, want := range map[int64]int64{
		1: 1001, 999: 1001, 1000: 1001, 1001: 1002, 1_500_001: 2501, 60_000_000: 61_000,
		ratelimit.MaxSpan.Microseconds(): ratelimit.MaxSpan.Milliseconds() + 1000,
	} {
		name := programtest.Decimal(window)
		l.call(run.Source, []string{s.key(name), s.key(name + " inner")},
			[]string{name, "1", "1", programtest.Decimal(programtest.LogNow)}, want, "a window of "+name+" us")
	}
	l.end()
}
