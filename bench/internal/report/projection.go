package report

import (
	"math"

	"github.com/edgelimit/edgelimit/bench/internal/ablation"
	"github.com/edgelimit/edgelimit/bench/internal/finding"
	"github.com/edgelimit/edgelimit/bench/internal/race"
)

// share is what is left of a script's time in another form.
func share(other, whole ablation.Cost) float64 { return other.Script / whole.Script }

// alone is the rate of one caller, who waits for every script, if scripts took that
// share of their time.
func alone(r race.Result, share float64) float64 {
	return 1e6 / (1e6/r.Figures.PerSecond - r.Figures.Scripts*(1-share))
}

// crowded is the rate of so many callers that Redis is never idle, if its CPU went to
// another form of the script.
func crowded(r race.Result, other, ours ablation.Cost) float64 {
	return r.Figures.PerSecond * ours.CPU / other.CPU
}

// parted splits what a decision takes of one layer and of two into what a call takes
// and what each log does: the one call has two logs, the two calls one each.
func parted(d finding.Dual) (call, log float64) {
	both, twice := 1e6/d.Both.Figures.PerSecond, 1e6/d.Twice.Figures.PerSecond
	return twice - both, both - twice/2
}

// affordable is what a log may take so that one call of two logs is as many times
// quicker than two calls as bound says, for a bound below 2.
func affordable(call, bound float64) float64 { return call * (2 - bound) / (2 * (bound - 1)) }

// of is a race's result by name; what was not measured or is void has no figures.
func (p Profile) of(callers int, name string) race.Result {
	for _, h := range p.Findings.Decisions {
		for _, r := range h.Results {
			if h.Callers == callers && r.Name == name && !r.Void() {
				return r
			}
		}
	}
	none := math.NaN()
	return race.Result{Figures: race.Figures{PerSecond: none, CPU: none, Scripts: none}}
}
