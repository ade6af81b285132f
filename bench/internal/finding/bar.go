package finding

import (
	"fmt"
	"math"

	"github.com/edgelimit/edgelimit/bench/internal/contender"
	"github.com/edgelimit/edgelimit/bench/internal/race"
	"github.com/edgelimit/edgelimit/bench/internal/web"
)

// Algorithms are the contenders whose figures a Bar of [Findings.Algorithms] has,
// in that order.
var Algorithms = []string{contender.FixedWindow, contender.SlidingWindowCounter, contender.TokenBucket}

// Bar is a figure that is to be reached.
type Bar struct {
	What     string
	Bound    float64
	AtMost   bool      // Bound is the most, and not the least
	Absolute bool      // of figures themselves, and not of ratios
	Got      []float64 // NaN is not measured
}

// Verdict is met, not met or not measured, of all that there is of Got.
func (b Bar) Verdict() string {
	verdict := "not measured"
	for _, got := range b.Got {
		switch {
		case math.IsNaN(got):
		case b.AtMost && got > b.Bound, !b.AtMost && got < b.Bound:
			return "not met"
		default:
			verdict = "met"
		}
	}
	return verdict
}

func perSecond(f race.Figures) float64 { return f.PerSecond }
func p99(f race.Figures) float64       { return f.P99 }
func cpu(f race.Figures) float64       { return f.CPU }
func allocs(f race.Figures) float64    { return f.Allocs }

// Algorithms are the bars that each algorithm is to reach.
func (f Findings) Algorithms() []Bar {
	const allowed, denied = contender.Allowed, contender.Denied
	rate, counter := contender.RedisRate, contender.BareCounter
	return []Bar{
		{What: "decisions/s against redis_rate, 64 callers", Bound: 2, Got: f.ratios(64, rate, allowed, perSecond)},
		{What: "decisions/s against redis_rate, 256 callers", Bound: 2, Got: f.ratios(256, rate, allowed, perSecond)},
		{What: "p99 against redis_rate, 64 callers", Bound: 1, AtMost: true, Got: f.ratios(64, rate, allowed, p99)},
		{What: "p99 against redis_rate, 256 callers", Bound: 1, AtMost: true, Got: f.ratios(256, rate, allowed, p99)},
		{What: "decisions/s against the bare counter through rueidis, 64 callers", Bound: 1, Got: f.ratios(64, counter, allowed, perSecond)},
		{What: "decisions/s against the bare counter through rueidis, 256 callers", Bound: 1, Got: f.ratios(256, counter, allowed, perSecond)},
		{What: "decisions/s against redis_rate, 1 caller", Bound: 0.95, Got: f.ratios(1, rate, allowed, perSecond)},
		{What: "decisions/s against redis_rate, 16 callers", Bound: 1.2, Got: f.ratios(16, rate, allowed, perSecond)},
		{What: "p99 against redis_rate, 1 caller", Bound: 1, AtMost: true, Got: f.ratios(1, rate, allowed, p99)},
		{What: "p99 against redis_rate, 16 callers", Bound: 1, AtMost: true, Got: f.ratios(16, rate, allowed, p99)},
		{What: "denials/s against redis_rate, 64 callers", Bound: 2, Got: f.ratios(64, rate, denied, perSecond)},
		{What: "denials/s against redis_rate, 256 callers", Bound: 2, Got: f.ratios(256, rate, denied, perSecond)},
		{What: "allocations a decision, 64 callers", Bound: 4, AtMost: true, Absolute: true, Got: f.own(64, allowed, allocs)},
		{What: "Redis CPU a decision against redis_rate, 64 callers", Bound: 0.7, AtMost: true, Got: f.ratios(64, rate, allowed, cpu)},
	}
}

// Others are the bars of single figures.
func (f Findings) Others() []Bar {
	bars := []Bar{
		{What: "denials/s by the denial cache, 64 callers", Bound: 1_000_000, Absolute: true, Got: f.remembered(perSecond)},
		{What: "allocations a denial by it", Bound: 1, AtMost: true, Absolute: true, Got: f.remembered(allocs)},
		{What: "Redis memory a subject against redis_rate, fixed window", Bound: 1.1, AtMost: true, Got: f.memory(contender.FixedWindow)},
		{What: "Redis memory a subject against redis_rate, token bucket", Bound: 1.1, AtMost: true, Got: f.memory(contender.TokenBucket)},
	}
	for _, d := range f.Dual {
		bars = append(bars, Bar{
			What:  fmt.Sprintf("dual layer against two calls, window %v, callers %d", d.Window, d.Callers),
			Bound: 1.7, Got: []float64{d.Both.Figures.PerSecond / d.Twice.Figures.PerSecond},
		})
	}
	return append(bars, Bar{What: "gateway with limiting against without, requests/s", Bound: 0.6, Got: f.gateway()})
}

// ratios are a figure of each algorithm by that of a peer in the same rounds.
func (f Findings) ratios(callers int, peer string, path contender.Path, figure func(race.Figures) float64) []float64 {
	theirs, ok := f.decision(callers, peer, path)
	ratios := f.own(callers, path, figure)
	for i := range ratios {
		if !ok {
			ratios[i] = math.NaN()
		}
		ratios[i] /= figure(theirs)
	}
	return ratios
}

// own are a figure of each algorithm.
func (f Findings) own(callers int, path contender.Path, figure func(race.Figures) float64) []float64 {
	own := make([]float64, len(Algorithms))
	for i, name := range Algorithms {
		figures, ok := f.decision(callers, name, path)
		own[i] = figure(figures)
		if !ok {
			own[i] = math.NaN()
		}
	}
	return own
}

// remembered is a figure of the denial cache.
func (f Findings) remembered(figure func(race.Figures) float64) []float64 {
	figures, ok := f.decision(64, contender.DenialCache, contender.Denied)
	if !ok {
		return []float64{math.NaN()}
	}
	return []float64{figure(figures)}
}

func (f Findings) memory(name string) []float64 {
	ours, ok := f.bytes(name)
	theirs, there := f.bytes(contender.RedisRate)
	if !ok || !there {
		return []float64{math.NaN()}
	}
	return []float64{ours / theirs}
}

func (f Findings) gateway() []float64 {
	on, ok := f.requests(web.Limited)
	off, there := f.requests(web.Unlimited)
	if !ok || !there {
		return []float64{math.NaN()}
	}
	return []float64{on / off}
}
