package report

import (
	"fmt"
	"strings"

	"github.com/edgelimit/edgelimit/bench/internal/ablation"
	"github.com/edgelimit/edgelimit/bench/internal/contender"
	"github.com/edgelimit/edgelimit/bench/internal/finding"
	"github.com/edgelimit/edgelimit/bench/internal/footprint"
)

// verdicts is a row for each bar that is the page's subject.
func (p Profile) verdicts(b *strings.Builder) {
	b.WriteString("\n## What each bar would take\n\nWhere there are three figures they are of the fixed window, the sliding-window counter and the token bucket.\n\n")
	bars := p.bars()
	var rows [][]string
	add := func(what, where, change, price string) {
		bar, ok := bars[what]
		if !ok {
			return
		}
		var got []string
		for _, v := range bar.Got {
			got = append(got, value(bar, v))
		}
		rows = append(rows, []string{what + ": " + wanted(bar), strings.Join(got, " / ") + ", " + bar.Verdict(), where, change, price})
	}
	const untrue = "every check of the state, its schema and revision, the clamp of the clock, exact rounding"
	for _, callers := range []int{64, 256} {
		add(fmt.Sprintf("decisions/s against the bare counter through rueidis, %d callers", callers), p.whereCrowded(callers), p.changeCrowded(callers),
			"by trust: "+untrue+"; by one string: a state read by name; by binary numbers: one that can be read at all; by one number: retry-after, reset-at and the rest of the answer")
	}
	add("decisions/s against redis_rate, 1 caller", p.whereAlone(), p.changeAlone(), "for the savings: nothing but texts that are pinned; for the others as above")
	add("p99 against redis_rate, 1 caller", "the same; and the longer a decision takes, the more of what else the machine does meets it", "the same", "the same")
	for _, w := range p.Memory {
		add("Redis memory a subject against redis_rate, "+strings.TrimPrefix(w.Name, "edgelimit "), p.whereMemory(w), p.changeMemory(w),
			"field names that say what they are; with the schema, how a state of another version, algorithm or revision is told; in one string, HGETALL")
	}
	for _, d := range p.Findings.Dual {
		call, log := parted(d)
		add(fmt.Sprintf("dual layer against two calls, window %v, callers %d", d.Window, d.Callers),
			fmt.Sprintf("a call takes %s µs whatever it asks, each log %s µs more; commands a decision: %s, by two calls %s",
				figure(call, 1), figure(log, 1), figure(d.Both.Figures.Commands, 1), figure(d.Twice.Figures.Commands, 1)),
			fmt.Sprintf("a log of %s µs, or single calls that share no write", figure(affordable(call, dualBound), 1)),
			"the exact log, for counters; or the rate of single calls")
	}
	words(b, []string{"bar", "here", "where it goes", "what would change it, and to what", "given up"}, rows)
}

// dualBound is the bar of the dual layer.
const dualBound = 1.7

// bars are those of the run, by what they are.
func (p Profile) bars() map[string]finding.Bar {
	f := p.Findings
	f.Memory = nil
	for _, w := range p.Memory {
		f.Memory = append(f.Memory, footprint.Footprint{Name: w.Name, Bytes: w.bytes(asItIs)})
	}
	f.Memory = append(f.Memory, footprint.Footprint{Name: contender.RedisRate, Bytes: p.peerBytes()})
	bars := map[string]finding.Bar{}
	for _, bar := range append(f.Algorithms(), f.Others()...) {
		bars[bar.What] = bar
	}
	return bars
}

// each is a figure of each algorithm.
func each(of func(name string) float64, decimals int) string {
	var figures []string
	for _, name := range finding.Algorithms {
		figures = append(figures, figure(of(name), decimals))
	}
	return strings.Join(figures, " / ")
}

func (p Profile) cpu(callers int, name string) float64 { return p.of(callers, name).Figures.CPU }

func (p Profile) whereCrowded(callers int) string {
	counter := p.of(callers, contender.BareCounter)
	return fmt.Sprintf("Redis, busy %s of a second: a decision takes %s µs of its CPU and the counter %s; in scripts %s and %s",
		each(func(name string) float64 { r := p.of(callers, name); return r.Figures.CPU * r.Figures.PerSecond / 1e6 }, 2),
		each(func(name string) float64 { return p.cpu(callers, name) }, 1), figure(counter.Figures.CPU, 1),
		each(func(name string) float64 { return p.of(callers, name).Figures.Scripts }, 1), figure(counter.Figures.Scripts, 1))
}

// whereAlone leaves out what the callers take where that was not looked into.
func (p Profile) whereAlone() string {
	peer := p.of(1, contender.RedisRate)
	text := fmt.Sprintf("Redis: of %s µs a decision %s are its CPU, of redis_rate's %s it is %s; in scripts %s and %s",
		each(func(name string) float64 { return 1e6 / p.of(1, name).Figures.PerSecond }, 0),
		each(func(name string) float64 { return p.cpu(1, name) }, 0), figure(1e6/peer.Figures.PerSecond, 0), figure(peer.Figures.CPU, 0),
		each(func(name string) float64 { return p.of(1, name).Figures.Scripts }, 0), figure(peer.Figures.Scripts, 0))
	ours, theirs := p.sampled(1, contender.TokenBucket), p.sampled(1, contender.RedisRate)
	if ours.Decisions > 0 && theirs.Decisions > 0 {
		text += fmt.Sprintf("; the callers' CPU: %s (token bucket) and %s", figure(ours.micros(ours.Total), 0), figure(theirs.micros(theirs.Total), 0))
	}
	return text
}

func (p Profile) sampled(callers int, name string) Sampled {
	for _, s := range p.Sampled {
		if s.Callers == callers && s.Name == name {
			return s
		}
	}
	return Sampled{}
}

// changeCrowded projects the token bucket in batches.
func (p Profile) changeCrowded(callers int) string {
	if len(p.Programs) == 0 {
		return ""
	}
	bucket, counter := p.of(callers, contender.TokenBucket), p.of(callers, contender.BareCounter)
	batch := p.Programs[len(p.Programs)-1].Batch
	by := func(c ablation.Cost) string {
		return times(crowded(bucket, c, batch) / counter.Figures.PerSecond)
	}
	return "the token bucket, trusting its state, in batches: " + p.formed(1, by)
}

// changeAlone projects the savings of all, and the token bucket with another state.
func (p Profile) changeAlone() string {
	if len(p.Programs) == 0 {
		return ""
	}
	peer := p.of(1, contender.RedisRate).Figures.PerSecond
	var saved []string
	for _, program := range p.Programs {
		least := program.Savings[len(program.Savings)-1]
		saved = append(saved, times(alone(p.of(1, program.Name), share(least, program.Whole))/peer))
	}
	whole := p.Programs[len(p.Programs)-1].Whole
	by := func(c ablation.Cost) string {
		return times(alone(p.of(1, contender.TokenBucket), share(c, whole)) / peer)
	}
	return fmt.Sprintf("the three savings below: %s; the token bucket, trusting its state: %s", strings.Join(saved, " / "), p.formed(0, by))
}

// formed is what comes of each form but the counter, which is no token bucket.
func (p Profile) formed(size int, by func(ablation.Cost) string) string {
	var forms []string
	for _, costs := range p.Forms {
		if costs[size].Name != ablation.Counter {
			forms = append(forms, costs[size].Name+" "+by(costs[size]))
		}
	}
	return strings.Join(forms, "; ")
}

func (p Profile) whereMemory(w Ways) string {
	key, mortal := bytesOf(p.Rest, KeyAlone), bytesOf(p.Rest, KeyWithTTL)
	return fmt.Sprintf("of %s bytes the key and its entry are %s, the TTL's entry %s, the value %s; redis_rate's value is %s",
		figure(w.bytes(asItIs), 0), figure(key, 0), figure(mortal-key, 0), figure(w.bytes(asItIs)-mortal, 0), figure(p.peerBytes()-mortal, 0))
}

func (p Profile) changeMemory(w Ways) string {
	var ways []string
	for _, way := range []string{oneLetter, noSchema, bothOfThem, oneString, numbersOnly} {
		ways = append(ways, way+" "+times(w.bytes(way)/p.peerBytes()))
	}
	return strings.Join(ways, "; ")
}
