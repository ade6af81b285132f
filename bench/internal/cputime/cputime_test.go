package cputime_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/bench/internal/cputime"
)

func TestPartOf_whatAStackIsFor(t *testing.T) {
	const (
		own   = "github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/"
		bench = "github.com/edgelimit/edgelimit/bench/internal/load.(*caller).run"
		port  = own + "redislimit.(*Provider).Evaluate"
		root  = "sync.(*WaitGroup).Go.func1" // of every caller
	)
	rows := []struct {
		says  string
		stack []string
		want  cputime.Part
	}{
		{"a write that the limiter made", []string{"internal/runtime/syscall.Syscall6", "internal/poll.(*FD).Write", own + "coordination.(*wire).Write", port, bench}, cputime.Write},
		{"a read that a library made", []string{"syscall.read", "internal/poll.(*FD).Read", "github.com/redis/go-redis/v9.(*Client).process", bench}, cputime.Read},
		{"a look at the socket", []string{"syscall.recvfrom", "syscall.Recvfrom", "internal/poll.(*FD).RawControl", port, bench}, cputime.Look},
		{"the scheduler that waits for the network", []string{"runtime.netpoll", "runtime.findRunnable", "runtime.schedule", "runtime.mcall"}, cputime.Wait},
		{"the scheduler otherwise", []string{"runtime.stealWork", "runtime.findRunnable", "runtime.schedule", "runtime.mcall"}, cputime.Schedule},
		{"an allocation while a reply is read", []string{"runtime.mallocgc", own + "internal/reply.Decode", port, bench}, cputime.Memory},
		{"the clock", []string{"time.now", "time.Now", bench}, cputime.Clock},
		{"a hash of a key", []string{"crypto/sha256.block", own + "internal/key.Series.Key", port, bench}, cputime.Key},
		{"a command that is written down", []string{"strconv.AppendInt", own + "coordination.(*group).encode", own + "coordination.(*Client).carry", port, bench}, cputime.Encode},
		{"a lane", []string{own + "coordination.(*pool).take", port, bench}, cputime.Carry},
		{"the port", []string{port, bench}, cputime.Port},
		{"a library", []string{"github.com/redis/rueidis.(*pipe).Do", bench}, cputime.Library},
		{"the loop that measures", []string{"math/rand/v2.(*Rand).IntN", bench}, cputime.Benchmark},
		{"anything else", []string{"os/signal.loop"}, cputime.Unassigned},
	}
	for _, row := range rows {
		if got := cputime.PartOf(append(row.stack, root)); got != row.want {
			t.Errorf("%s: got %q, want %q", row.says, got, row.want)
		}
		if !slices.Contains(cputime.Parts(), row.want) {
			t.Errorf("%q is in no table", row.want)
		}
	}
}

// spin is what the profile must show.
//
//go:noinline
func spin(until time.Time) (n int) {
	for time.Now().Before(until) {
		for range 1000 {
			n++
		}
	}
	return n
}

func TestSample_findsWhatRan(t *testing.T) {
	p, err := cputime.Sample(func() { spin(time.Now().Add(500 * time.Millisecond)) })
	if err != nil {
		t.Fatal(err)
	}
	var parts time.Duration
	for _, spent := range p.Parts {
		parts += spent
	}
	if p.Total <= 0 || parts != p.Total {
		t.Errorf("parts take %v of %v, want all of some", parts, p.Total)
	}
	if most := int64(p.Total.Milliseconds()); p.Samples <= 0 || p.Samples > most {
		t.Errorf("%d samples, want some, and no more than one a millisecond of %d", p.Samples, most)
	}
	if !slices.ContainsFunc(cputime.Top(p.Flat, 15), func(name string) bool { return strings.HasSuffix(name, ".spin") }) {
		t.Errorf("the function that ran is not among %v", p.Flat)
	}
	if len(p.Own) != 0 {
		t.Errorf("the benchmark is its own subject: %v", p.Own)
	}
}

func TestTop_isTheMostFirst(t *testing.T) {
	times := map[string]time.Duration{"some": 2, "none": 0, "most": 9, "as much": 2}
	if got, want := cputime.Top(times, 3), []string{"most", "as much", "some"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := cputime.Top(times, 9); len(got) != 4 {
		t.Errorf("got %v, want all four", got)
	}
}
