package finding_test

import (
	"math"
	"testing"

	"github.com/edgelimit/edgelimit/bench/internal/contender"
	"github.com/edgelimit/edgelimit/bench/internal/finding"
	"github.com/edgelimit/edgelimit/bench/internal/footprint"
	"github.com/edgelimit/edgelimit/bench/internal/race"
	"github.com/edgelimit/edgelimit/bench/internal/web"
)

func TestBar_verdict(t *testing.T) {
	nan := math.NaN()
	rows := []struct {
		says string
		bar  finding.Bar
		want string
	}{
		{"all reach the least", finding.Bar{Bound: 2, Got: []float64{2, 2.1, 9}}, "met"},
		{"one does not", finding.Bar{Bound: 2, Got: []float64{2, 1.99, 9}}, "not met"},
		{"all keep to the most", finding.Bar{Bound: 2, AtMost: true, Got: []float64{2, 0.1}}, "met"},
		{"one does not keep to it", finding.Bar{Bound: 2, AtMost: true, Got: []float64{2.01, 0.1}}, "not met"},
		{"one was left out and the other reaches it", finding.Bar{Bound: 2, Got: []float64{nan, 2}}, "not measured"},
		{"one was left out and the other misses it", finding.Bar{Bound: 2, Got: []float64{nan, 1}}, "not measured"},
		{"one is void and the other reaches it", finding.Bar{Bound: 2, Got: []float64{finding.Void, 2}}, "void"},
		{"one is void and the other was left out", finding.Bar{Bound: 2, Got: []float64{nan, finding.Void}}, "void"},
		{"none was measured", finding.Bar{Bound: 2, Got: []float64{nan, nan}}, "not measured"},
		{"there is none", finding.Bar{Bound: 2}, "not measured"},
	}
	for _, row := range rows {
		if got := row.bar.Verdict(); got != row.want {
			t.Errorf("%s: got %q, want %q", row.says, got, row.want)
		}
	}
}

func TestFindings_compareWithinOneRace(t *testing.T) {
	result := func(name string, path contender.Path, perSecond float64) race.Result {
		return race.Result{Name: name, Path: path, Figures: race.Figures{PerSecond: perSecond, Allocs: 3}}
	}
	f := finding.Findings{Decisions: []finding.Heat{
		{Race: race.Race{Callers: 16}, Results: []race.Result{
			result(contender.TokenBucket, contender.Allowed, 999), result(contender.RedisRate, contender.Allowed, 1),
		}},
		{Race: race.Race{Callers: 64}, Results: []race.Result{
			result(contender.TokenBucket, contender.Allowed, 300), result(contender.RedisRate, contender.Allowed, 100),
			result(contender.TokenBucket, contender.Denied, 800), result(contender.RedisRate, contender.Denied, 200),
		}},
	}}
	bars := map[string]finding.Bar{}
	for _, bar := range f.Algorithms() {
		bars[bar.What] = bar
	}
	const bucket = 2 // the token bucket's place
	for what, want := range map[string]float64{
		"decisions/s against redis_rate, 64 callers": 3,
		"denials/s against redis_rate, 64 callers":   4,
		"allocations a decision, 64 callers":         3,
	} {
		got := bars[what].Got
		if len(got) != len(finding.Algorithms) || got[bucket] != want || !math.IsNaN(got[0]) {
			t.Errorf("%s: got %v, want %v for the token bucket and nothing for the others", what, got, want)
		}
	}
	if got := bars["decisions/s against redis_rate, 256 callers"].Verdict(); got != "not measured" {
		t.Errorf("a race that was not run is %q, want not measured", got)
	}
}

func TestFindings_othersAreSingleFigures(t *testing.T) {
	f := finding.Findings{
		Decisions: []finding.Heat{{Race: race.Race{Callers: 64}, Results: []race.Result{
			{Name: contender.TokenBucket, Path: contender.Allowed, Figures: race.Figures{PerSecond: 60}},
			{Name: contender.GroupCommit, Path: contender.Allowed, Figures: race.Figures{PerSecond: 40}},
			{Name: contender.DenialCache, Path: contender.Denied, Figures: race.Figures{PerSecond: 1_234_567, Allocs: 0.5}},
		}}},
		Memory: []footprint.Footprint{{Name: contender.FixedWindow, Bytes: 210}, {Name: contender.RedisRate, Bytes: 200}},
		Dual: []finding.Dual{{
			Both:  race.Result{Figures: race.Figures{PerSecond: 20}},
			Twice: race.Result{Figures: race.Figures{PerSecond: 10}},
		}},
		Gateway: []web.Result{{Name: web.Unlimited, PerSecond: 100}, {Name: web.Limited, PerSecond: 70}},
	}
	want := []float64{1.5, math.NaN(), 1_234_567, 0.5, 1.05, math.NaN(), 2, 0.7}
	bars := f.Others()
	if len(bars) != len(want) {
		t.Fatalf("%d bars, want %d", len(bars), len(want))
	}
	for i, bar := range bars {
		if got := bar.Got[0]; got != want[i] && !(math.IsNaN(got) && math.IsNaN(want[i])) {
			t.Errorf("%s: got %v, want %v", bar.What, got, want[i])
		}
	}
}

// TestFindings_aFigureOfManyWrongAnswersIsVoid has one side or the other answer
// wrongly, in just one case of a thousand or in more.
func TestFindings_aFigureOfManyWrongAnswersIsVoid(t *testing.T) {
	rows := []struct {
		says         string
		ours, theirs int // wrong of 10,000
		want         float64
	}{
		{"no more than one of a thousand", 10, 10, 2},
		{"more of ours", 11, 0, finding.Void},
		{"more of theirs", 0, 11, finding.Void},
	}
	for _, row := range rows {
		ours := race.Result{Name: contender.TokenBucket, Path: contender.Allowed, Decisions: 10_000, Wrong: row.ours, Figures: race.Figures{PerSecond: 20}}
		theirs := race.Result{Name: contender.GroupCommit, Path: contender.Allowed, Decisions: 10_000, Wrong: row.theirs, Figures: race.Figures{PerSecond: 10}}
		f := finding.Findings{
			Decisions: []finding.Heat{{Race: race.Race{Callers: 64}, Results: []race.Result{ours, theirs}}},
			Dual:      []finding.Dual{{Both: ours, Twice: theirs}},
			Gateway: []web.Result{
				{Name: web.Limited, PerSecond: 20, Requests: 10_000, Wrong: row.ours},
				{Name: web.Unlimited, PerSecond: 10, Requests: 10_000, Wrong: row.theirs},
			},
		}
		bars := f.Others()
		for _, at := range []int{0, len(bars) - 2, len(bars) - 1} { // the batch, the dual layer, the gateway
			if got := bars[at].Got[0]; got != row.want {
				t.Errorf("%s: %s: got %v, want %v", row.says, bars[at].What, got, row.want)
			}
		}
	}
}
