// Package load lets callers decide in closed loops, each as fast as it is answered,
// and says what they saw.
package load

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/edgelimit/edgelimit/bench/internal/contender"
)

// far is a deadline that no decision comes near.
const far = time.Hour

// Load is what the callers do.
type Load struct {
	Callers  int
	Subjects int
	Length   time.Duration
	Path     contender.Path // the answer that every decision must get
}

// Sample is what they saw.
type Sample struct {
	Decisions int
	Failed    int           // decisions that erred or got the other answer
	Failure   error         // one of them
	Took      time.Duration // from the start to the last answer
	P50, P99  time.Duration
	Allocs    uint64 // heap allocations of the process meanwhile
}

// Run runs the load. Each caller walks the subjects at random, the same way in every
// run.
func (l Load) Run(ctx context.Context, limiter contender.Limiter) Sample {
	ctx, cancel := context.WithTimeout(ctx, far)
	defer cancel()
	callers := make([]caller, l.Callers)
	start := make(chan time.Time)
	var done sync.WaitGroup
	for i := range callers {
		c := &callers[i]
		c.walk = rand.New(rand.NewPCG(uint64(i), 1))
		ctx, leave := context.WithCancel(ctx)
		decide := limiter.Caller(ctx)
		done.Go(func() {
			defer leave()
			c.run(decide, l, <-start)
		})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begun := time.Now()
	for range callers {
		start <- begun
	}
	done.Wait()
	took := time.Since(begun)
	runtime.ReadMemStats(&after)
	s := gather(callers)
	s.Took, s.Allocs = took, after.Mallocs-before.Mallocs
	return s
}

// caller is one closed loop. It allocates nothing once it runs.
type caller struct {
	walk      *rand.Rand
	latencies histogram
	decisions int
	failed    int
	failure   error
}

func (c *caller) run(decide contender.Decide, l Load, begun time.Time) {
	end := begun.Add(l.Length)
	for now := time.Now(); now.Before(end); {
		allowed, err := decide(c.walk.IntN(l.Subjects))
		answered := time.Now()
		c.latencies.add(answered.Sub(now))
		c.decisions++
		if err == nil && !l.Path.Expects(allowed) {
			err = errOther
		}
		if err != nil {
			c.failed++
			c.failure = err
		}
		now = answered
	}
}

func gather(callers []caller) (s Sample) {
	var all histogram
	for i := range callers {
		c := &callers[i]
		all.merge(&c.latencies)
		s.Decisions += c.decisions
		s.Failed += c.failed
		if c.failure != nil {
			s.Failure = c.failure
		}
	}
	s.P50, s.P99 = all.quantile(0.50), all.quantile(0.99)
	return s
}

var errOther = errors.New("the answer of another path")

// Touch decides once for every subject, whatever the answer. It insists on one.
func Touch(ctx context.Context, limiter contender.Limiter, subjects, callers int) error {
	ctx, cancel := context.WithTimeout(ctx, far)
	defer cancel()
	var next atomic.Int64
	var done sync.WaitGroup
	failures := make([]error, callers)
	for i := range callers {
		decide := limiter.Caller(ctx)
		done.Go(func() {
			for failures[i] == nil {
				subject := int(next.Add(1)) - 1
				if subject >= subjects {
					return
				}
				_, failures[i] = Insist(ctx, decide, subject)
			}
		})
	}
	done.Wait()
	return errors.Join(failures...)
}

// attempts, with a pause between them, outlast the breaker that a slow moment opens.
const (
	attempts = 100
	pause    = 20 * time.Millisecond
)

// Insist asks again for a decision that fails.
func Insist(ctx context.Context, decide contender.Decide, subject int) (allowed bool, err error) {
	for range attempts {
		if allowed, err = decide(subject); err == nil {
			return allowed, nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false, err
		}
	}
	return false, err
}
