package report

import (
	"math"
	"slices"
	"strings"

	"github.com/edgelimit/edgelimit/bench/internal/ablation"
	"github.com/edgelimit/edgelimit/bench/internal/contender"
	"github.com/edgelimit/edgelimit/bench/internal/finding"
	"github.com/edgelimit/edgelimit/bench/internal/race"
)

// form is what a bar's figure would be by another program; NaN is not measurable.
type form struct {
	name string
	rate float64
}

func listedForms(forms []form) string {
	var list []string
	for _, f := range forms {
		list = append(list, f.name+" "+projected(f.rate))
	}
	return strings.Join(list, "; ")
}

func projected(rate float64) string {
	if math.IsNaN(rate) {
		return unmeasurable
	}
	return times(rate)
}

// narrowest is how much of a second Redis is busy at least where it is what all wait
// for.
const narrowest = 0.9

// changeCrowded projects the token bucket in batches.
func (p Profile) changeCrowded(callers int) string {
	if len(p.Programs) == 0 {
		return ""
	}
	bucket, counter := p.of(callers, contender.TokenBucket), p.of(callers, contender.BareCounter)
	if !(busy(bucket) >= narrowest) {
		return unmeasurable + ": Redis was not the narrowest place"
	}
	batch := p.Programs[len(p.Programs)-1].Batch
	return "the token bucket, trusting its state, in batches: " + listedForms(p.formed(1, func(c ablation.Cost) float64 {
		return crowded(bucket, c, batch) / counter.Figures.PerSecond
	}))
}

// changeAlone projects the savings of all, and the token bucket with another state or
// with a script as short as the peer's.
func (p Profile) changeAlone(bound float64) string {
	if len(p.Programs) == 0 {
		return ""
	}
	peer := p.of(1, contender.RedisRate).Figures.PerSecond
	var saved []string
	var rates []float64
	for _, program := range p.Programs {
		rate := math.NaN()
		if together(program) {
			rate = alone(p.of(1, program.Name), share(least(program), program.Whole)) / peer
		}
		saved, rates = append(saved, projected(rate)), append(rates, rate)
	}
	whole := p.Programs[len(p.Programs)-1].Whole
	by := func(c ablation.Cost) float64 { return alone(p.of(1, contender.TokenBucket), share(c, whole)) / peer }
	short := form{"a script as short as redis_rate's", by(p.RedisRate)}
	forms := p.formed(0, by)
	for _, f := range append(forms, short) {
		rates = append(rates, f.rate)
	}
	text := "the three savings below: " + strings.Join(saved, " / ") + "; the token bucket, trusting its state: " + listedForms(forms) +
		"; whatever it does, with " + listedForms([]form{short})
	if !slices.ContainsFunc(rates, func(rate float64) bool { return !(rate < bound) }) {
		text += "; none of these reaches the bar"
	}
	return text
}

// formed is what comes of each form but the counter, which is no token bucket.
func (p Profile) formed(size int, by func(ablation.Cost) float64) []form {
	var forms []form
	for _, costs := range p.Forms {
		if costs[size].Name != ablation.Counter {
			forms = append(forms, form{costs[size].Name, by(costs[size])})
		}
	}
	return forms
}

// least is the program with all that could be saved.
func least(program ablation.Program) ablation.Cost {
	return program.Savings[len(program.Savings)-1]
}

// together tells whether all savings together save what each of them does, and
// whether that is anything: else it is noise of the run.
func together(program ablation.Program) bool {
	dearer := func(other ablation.Cost) bool { return least(program).Script > other.Script }
	return !dearer(program.Whole) && !slices.ContainsFunc(program.Savings, dearer)
}

// share is what is left of a script's time in another form.
func share(other, whole ablation.Cost) float64 { return other.Script / whole.Script }

// alone is the rate of one caller, who waits for every script, if scripts took that
// share of their time. It is none where they took longer than Redis had the
// processor: then another process' time is in theirs.
func alone(r race.Result, share float64) float64 {
	if r.Figures.Scripts > r.Figures.CPU {
		return math.NaN()
	}
	return 1e6 / (1e6/r.Figures.PerSecond - r.Figures.Scripts*(1-share))
}

// busy is how much of a second Redis works.
func busy(r race.Result) float64 { return r.Figures.CPU * r.Figures.PerSecond / 1e6 }

// elsewhere is how long a decision of one caller takes beyond what Redis works for it.
func elsewhere(r race.Result) float64 { return 1e6/r.Figures.PerSecond - r.Figures.CPU }

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
