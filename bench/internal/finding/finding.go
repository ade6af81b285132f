// Package finding holds what a run found, and judges it by the bars.
package finding

import (
	"math"
	"time"

	"github.com/edgelimit/edgelimit/bench/internal/contender"
	"github.com/edgelimit/edgelimit/bench/internal/footprint"
	"github.com/edgelimit/edgelimit/bench/internal/race"
	"github.com/edgelimit/edgelimit/bench/internal/web"
)

// Findings are all that a run measured. What was left out is empty.
type Findings struct {
	Decisions []Heat // all contenders, by callers
	Crowd     []Heat // the two whose growth is shown, with still more callers
	Growth    []Heat // those two, by subjects
	Dual      []Dual
	Gateway   []web.Result

	Memory         []footprint.Footprint
	MemorySubjects int

	// NoGateway says why the gateway was left out, if it was.
	NoGateway string
}

// Heat is one race and what came of it.
type Heat struct {
	race.Race
	Results []race.Result
}

// Dual is the dual layer in one call, and by two calls of a limiter of one layer.
type Dual struct {
	Window      time.Duration
	Callers     int
	Both, Twice race.Result
}

// result is that of a contender with that many callers, if it was measured.
func (f Findings) result(callers int, name string, path contender.Path) (race.Result, bool) {
	for _, h := range f.Decisions {
		if h.Callers == callers {
			return find(h.Results, name, path)
		}
	}
	return race.Result{}, false
}

func find(results []race.Result, name string, path contender.Path) (race.Result, bool) {
	for _, r := range results {
		if r.Name == name && r.Path == path {
			return r, true
		}
	}
	return race.Result{}, false
}

func (f Findings) bytes(name string) float64 {
	for _, m := range f.Memory {
		if m.Name == name {
			return m.Bytes
		}
	}
	return math.NaN()
}

func (f Findings) requests(way string) float64 {
	for _, r := range f.Gateway {
		switch {
		case r.Name != way:
		case r.Void():
			return Void
		default:
			return r.PerSecond
		}
	}
	return math.NaN()
}
