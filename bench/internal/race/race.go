package race

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/edgelimit/edgelimit/bench/internal/contender"
	"github.com/edgelimit/edgelimit/bench/internal/load"
	"github.com/edgelimit/edgelimit/bench/internal/server"
)

// Race is one load and how often it is laid on.
type Race struct {
	Callers  int
	Subjects int
	Rounds   int
	Slice    time.Duration
}

// Result is what came of one contender.
type Result struct {
	Name      string
	Path      contender.Path
	Figures   Figures
	Decisions int   // in all rounds
	Wrong     int   // those that failed or got another answer than the path's
	Failure   error // why one of them failed
}

// Void tells that too many answers were wrong for the figures to say anything: a
// refusal is quick.
func (r Result) Void() bool { return Void(r.Wrong, r.Decisions) }

// Void tells that more than one in a thousand was wrong.
func Void(wrong, of int) bool { return wrong*1000 > of }

// warmUp is what an entry runs before the rounds, at most.
const warmUp = 200 * time.Millisecond

// touchers fill the server before a race.
const touchers = 64

// Entry is a contender that has been opened and has met each subject once.
type Entry struct {
	contender.Contender
	limiter contender.Limiter
}

// Enter opens a contender and lets it decide once for each subject.
func Enter(ctx context.Context, s *server.Server, c contender.Contender, names []string) (Entry, error) {
	limiter, err := c.Open(s.Addr(), names)
	if err != nil {
		return Entry{}, fmt.Errorf("open %s: %w", c.Name, err)
	}
	if err := load.Touch(ctx, limiter, len(names), touchers); err != nil {
		_ = limiter.Close()
		return Entry{}, fmt.Errorf("%s: %w", c.Name, err)
	}
	return Entry{Contender: c, limiter: limiter}, nil
}

// Close closes the contender.
func (e Entry) Close() error { return e.limiter.Close() }

// Load lays a load on it beside any race.
func (e Entry) Load(ctx context.Context, callers, subjects int, length time.Duration) load.Sample {
	return load.Load{Callers: callers, Subjects: subjects, Length: length, Path: e.Path}.Run(ctx, e.limiter)
}

// Run runs the rounds, each of which begins with another entry. Before them each
// entry has a slice that counts for nothing, in which its connections are opened.
func (r Race) Run(ctx context.Context, s *server.Server, entries []Entry) ([]Result, error) {
	results := make([]Result, len(entries))
	laps := make([][]Figures, len(entries))
	for i, e := range entries {
		results[i] = Result{Name: e.Name, Path: e.Path}
		warm := r.load(e)
		warm.Length = min(warm.Length, warmUp)
		warm.Run(ctx, e.limiter)
	}
	for round := range r.Rounds {
		for i := range entries {
			at := (i + round) % len(entries)
			figures, sample, err := r.lap(ctx, s, entries[at])
			if err != nil {
				return nil, err
			}
			laps[at] = append(laps[at], figures)
			results[at].Decisions += sample.Decisions
			results[at].Wrong += sample.Failed
			if sample.Failure != nil {
				results[at].Failure = sample.Failure
			}
		}
	}
	for i := range results {
		results[i].Figures = median(laps[i])
	}
	return results, nil
}

func (r Race) load(e Entry) load.Load {
	return load.Load{Callers: r.Callers, Subjects: r.Subjects, Length: r.Slice, Path: e.Path}
}

// lap is one slice. The garbage of the slice before is collected first.
func (r Race) lap(ctx context.Context, s *server.Server, e Entry) (Figures, load.Sample, error) {
	if err := ctx.Err(); err != nil {
		return Figures{}, load.Sample{}, err
	}
	if e.Ages {
		if err := load.Touch(ctx, e.limiter, r.Subjects, touchers); err != nil {
			return Figures{}, load.Sample{}, fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	runtime.GC()
	billed, err := s.Bill(ctx)
	if err != nil {
		return Figures{}, load.Sample{}, err
	}
	before, err := s.Figures(ctx)
	if err != nil {
		return Figures{}, load.Sample{}, err
	}
	sample := r.load(e).Run(ctx, e.limiter)
	after, err := s.Figures(ctx)
	if err != nil {
		return Figures{}, load.Sample{}, err
	}
	bill, err := s.Bill(ctx)
	if err != nil {
		return Figures{}, load.Sample{}, err
	}
	spent, n := bill.Since(billed), float64(max(sample.Decisions, 1))
	return Figures{
		PerSecond: float64(sample.Decisions-sample.Failed) / sample.Took.Seconds(),
		P50:       millis(sample.P50),
		P99:       millis(sample.P99),
		Allocs:    float64(sample.Allocs) / n,
		CPU:       float64((after.CPU - before.CPU).Microseconds()) / n,
		Commands:  float64(after.Commands-before.Commands) / n,
		Trips:     float64(after.Reads-before.Reads) / n,
		Scripts:   micros(spent.Scripts()) / n,
		Given:     micros(spent.Given()) / n,
	}, sample, nil
}

func millis(d time.Duration) float64 { return d.Seconds() * 1000 }
func micros(d time.Duration) float64 { return d.Seconds() * 1e6 }
