//go:build soak

package e2e_test

import (
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// exposition is what /metrics showed, by sample.
type exposition map[string]float64

func exposed(text string) exposition {
	e := exposition{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if end := strings.LastIndexByte(line, ' '); end > 0 && line[0] != '#' {
			e[line[:end]], _ = strconv.ParseFloat(line[end+1:], 64)
		}
	}
	return e
}

// sum adds the samples that begin so and have all these labels.
func (e exposition) sum(family string, labels ...string) (sum int64) {
	for name, value := range e {
		if strings.HasPrefix(name, family) && !slices.ContainsFunc(labels, func(label string) bool { return !strings.Contains(name, label) }) {
			sum += int64(value)
		}
	}
	return sum
}

// sample is one look at a process from outside.
type sample struct {
	at          time.Duration // since the run began
	connections int           // to Redis
	goroutines  int           // without the one that reads each of these
	fds         int           // open descriptors, without these too
	rss, heap   float64
	series      int
}

const mebi = 1 << 20

// look reads a process: its metrics, and what the operating system says of it.
func (g *soaked) look(since time.Time) (sample, exposition, error) {
	got, err := try(http.MethodGet, "http://"+g.admin+"/metrics", "")
	if err != nil {
		return sample{}, nil, err
	}
	e := exposed(got.body)
	proc := "/proc/" + numeral(g.command.Process.Pid)
	fds, err := os.ReadDir(proc + "/fd")
	if err != nil {
		return sample{}, nil, err
	}
	status, err := os.ReadFile(proc + "/status")
	if err != nil {
		return sample{}, nil, err
	}
	open := g.link.Open()
	_, rss, _ := strings.Cut(string(status), "VmRSS:")
	kilobytes, err := strconv.ParseFloat(strings.Fields(rss)[0], 64)
	return sample{
		at: time.Since(since), goroutines: int(e["go_goroutines"]) - open, connections: open, fds: len(fds) - open,
		rss: kilobytes / 1024, heap: e["go_memstats_heap_alloc_bytes"] / mebi, series: len(e),
	}, e, err
}

// noise is by how much the machine overslept at worst: no answer can be held to less.
type noise struct {
	mu    sync.Mutex
	worst time.Duration
}

// watch looks at the processes once a second until it is stopped.
func (s *soak) watch() (stop func()) {
	over := make(chan struct{})
	var watchers sync.WaitGroup
	for _, g := range s.gateways {
		watchers.Go(func() {
			every(over, time.Second, func() {
				begun := time.Now()
				seen, _, err := g.look(s.begun)
				if err != nil {
					s.Errorf("%s cannot be looked at: %v", g.name, err)
					return
				}
				g.book.mu.Lock()
				g.book.slowest = max(g.book.slowest, time.Since(begun))
				g.book.mu.Unlock()
				g.samples = append(g.samples, seen)
			})
		})
	}
	watchers.Go(func() {
		const nap = 5 * time.Millisecond
		last := time.Now()
		every(over, nap, func() {
			s.noise.mu.Lock()
			s.noise.worst = max(s.noise.worst, time.Since(last)-nap)
			s.noise.mu.Unlock()
			last = time.Now()
		})
	})
	return func() {
		close(over)
		watchers.Wait()
	}
}

func every(over <-chan struct{}, interval time.Duration, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
			do()
		}
	}
}

// quiet is a process at rest: nobody asks, Redis is well, and everybody else has
// closed what he had open.
type quiet struct {
	sample // the last, but of goroutines, descriptors and heap the least: a look is at work itself
	shown  exposition
}

// rest brings the processes to rest and notes them.
func (s *soak) rest(where func(*soaked) *quiet) {
	s.Helper()
	keeping.CloseIdleConnections()
	s.behind.CloseClientConnections()
	for _, g := range s.gateways {
		eventually(s, "readiness and the end of what is in flight", func() bool {
			_, shown, err := g.look(s.begun)
			return err == nil && shown["edgelimit_evaluations_in_flight"] == 0 && g.readiness(s) == http.StatusOK && g.inboundReady(s)
		})
	}
	begun := time.Now()
	for _, g := range s.gateways {
		q := where(g)
		collections, least := 0.0, sample{}
		eventually(s, "second collection at rest", func() bool {
			now, shown, err := g.look(s.begun)
			if err != nil {
				s.Fatalf("%s cannot be looked at: %v", g.name, err)
			}
			count := shown["go_gc_duration_seconds_count"]
			if least.series == 0 {
				collections, least = count, now
			}
			least.goroutines, least.fds, least.heap = min(least.goroutines, now.goroutines), min(least.fds, now.fds), min(least.heap, now.heap)
			now.goroutines, now.fds, now.heap = least.goroutines, least.fds, least.heap
			q.sample, q.shown = now, shown
			return count >= collections+2 && time.Since(begun) > quietTime
		})
	}
}

// slope is by how much a figure rises in a minute, by least squares.
func slope(samples []sample, figure func(sample) float64) float64 {
	var n, x, y, xx, xy float64
	for _, s := range samples {
		at, value := s.at.Minutes(), figure(s)
		n, x, y, xx, xy = n+1, x+at, y+value, xx+at*at, xy+at*value
	}
	return (n*xy - x*y) / (n*xx - x*x)
}
