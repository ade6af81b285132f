package finding

import (
	"fmt"
	"math"
	"slices"

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

// Void is in place of a figure for which too many answers were wrong.
var Void = math.Inf(1)

// IsVoid tells whether a figure is Void.
func IsVoid(v float64) bool { return math.IsInf(v, 0) }

// The verdicts on a bar.
const (
	Met         = "met"
	NotMet      = "not met"
	NotMeasured = "not measured"
	Voided      = "void"
)

// Verdict is [Voided] if any of Got is [Void], [NotMeasured] if any of it is that,
// and else [Met] or [NotMet] by all of it.
func (b Bar) Verdict() string {
	missed := func(got float64) bool { return b.AtMost && got > b.Bound || !b.AtMost && got < b.Bound }
	switch {
	case slices.ContainsFunc(b.Got, IsVoid):
		return Voided
	case len(b.Got) == 0, slices.ContainsFunc(b.Got, math.IsNaN):
		return NotMeasured
	case slices.ContainsFunc(b.Got, missed):
		return NotMet
	default:
		return Met
	}
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
		{What: "decisions/s with the batch program against group commit alone, 64 callers", Bound: 1.25, Got: f.batched(64)},
		{What: "decisions/s with the batch program against group commit alone, 256 callers", Bound: 1.25, Got: f.batched(256)},
		{What: "denials/s by the denial cache, 64 callers", Bound: 1_000_000, Absolute: true, Got: f.remembered(perSecond)},
		{What: "allocations a denial by it", Bound: 1, AtMost: true, Absolute: true, Got: f.remembered(allocs)},
		{What: "Redis memory a subject against redis_rate, fixed window", Bound: 1.1, AtMost: true, Got: f.memory(contender.FixedWindow)},
		{What: "Redis memory a subject against redis_rate, token bucket", Bound: 1.1, AtMost: true, Got: f.memory(contender.TokenBucket)},
	}
	for _, d := range f.Dual {
		bars = append(bars, Bar{
			What:  fmt.Sprintf("dual layer against two calls, window %v, callers %d", d.Window, d.Callers),
			Bound: 1.7, Got: []float64{ratio(measured(d.Both, perSecond), measured(d.Twice, perSecond))},
		})
	}
	return append(bars, Bar{What: "gateway with limiting against without, requests/s", Bound: 0.6, Got: f.gateway()})
}

// ratios are a figure of each algorithm by that of a peer in the same rounds.
func (f Findings) ratios(callers int, peer string, path contender.Path, figure func(race.Figures) float64) []float64 {
	theirs := f.decision(callers, peer, path, figure)
	ratios := f.own(callers, path, figure)
	for i := range ratios {
		ratios[i] = ratio(ratios[i], theirs)
	}
	return ratios
}

// own are a figure of each algorithm.
func (f Findings) own(callers int, path contender.Path, figure func(race.Figures) float64) []float64 {
	own := make([]float64, len(Algorithms))
	for i, name := range Algorithms {
		own[i] = f.decision(callers, name, path, figure)
	}
	return own
}

// batched is what the batch program gains.
func (f Findings) batched(callers int) []float64 {
	with := f.decision(callers, contender.TokenBucket, contender.Allowed, perSecond)
	return []float64{ratio(with, f.decision(callers, contender.GroupCommit, contender.Allowed, perSecond))}
}

// remembered is a figure of the denial cache.
func (f Findings) remembered(figure func(race.Figures) float64) []float64 {
	return []float64{f.decision(64, contender.DenialCache, contender.Denied, figure)}
}

func (f Findings) memory(name string) []float64 {
	return []float64{ratio(f.bytes(name), f.bytes(contender.RedisRate))}
}

func (f Findings) gateway() []float64 {
	return []float64{ratio(f.requests(web.Limited), f.requests(web.Unlimited))}
}

// decision is a figure of a contender with that many callers.
func (f Findings) decision(callers int, name string, path contender.Path, figure func(race.Figures) float64) float64 {
	result, ok := f.result(callers, name, path)
	if !ok {
		return math.NaN()
	}
	return measured(result, figure)
}

func measured(r race.Result, figure func(race.Figures) float64) float64 {
	if r.Void() {
		return Void
	}
	return figure(r.Figures)
}

// ratio is void if either figure is.
func ratio(ours, theirs float64) float64 {
	if IsVoid(ours) || IsVoid(theirs) {
		return Void
	}
	return ours / theirs
}
