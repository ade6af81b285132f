package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/edgelimit/edgelimit/bench/internal/contender"
	"github.com/edgelimit/edgelimit/bench/internal/cputime"
	"github.com/edgelimit/edgelimit/bench/internal/finding"
	"github.com/edgelimit/edgelimit/bench/internal/footprint"
)

// account is what the page says of a bar.
type account struct {
	where  string // the time or the memory goes
	change string // what would change it, and to what
	price  string // what would be given up for that
}

// unaccounted are bars that are not the page's subject, and those of whose figures
// nothing follows.
func unaccounted(why string) account { return account{why, "-", "-"} }

// What the forms of the programs give up.
const (
	priceOfForms = "by trust: every check of the state, its schema and revision, the clamp of the clock, exact rounding; " +
		"by one string: a state read by name; by binary numbers: one that can be read at all; " +
		"by one number: retry-after, reset-at and the rest of the answer"
	priceOfWays = "field names that say what they are; with the schema, how a state of another version, algorithm or revision is told; in one string, HGETALL"
)

// verdicts is a row for each bar that the run measured and did not find met.
func (p Profile) verdicts(b *strings.Builder) {
	b.WriteString("\n## What each bar would take\n\nWhere there are three figures they are of the fixed window, the sliding-window counter and the token bucket.\n\n")
	accounts := p.accounts()
	var rows [][]string
	for _, bar := range p.bars() {
		verdict := bar.Verdict()
		of, looked := accounts[bar.What]
		switch {
		case verdict == finding.Met, !looked && verdict != finding.NotMet:
			continue
		case !looked:
			of = func(finding.Bar) account { return unaccounted("not looked into here") }
		}
		var got []string
		for _, v := range bar.Got {
			got = append(got, value(bar, v))
		}
		a := of(bar)
		rows = append(rows, []string{bar.What + ": " + wanted(bar), strings.Join(got, " / ") + ", " + verdict, a.where, a.change, a.price})
	}
	words(b, []string{"bar", "here", "where it goes", "what would change it, and to what", "given up"}, rows)
}

// bars are those of the run.
func (p Profile) bars() []finding.Bar {
	f := p.Findings
	f.Memory = nil
	for _, w := range p.Memory {
		f.Memory = append(f.Memory, footprint.Footprint{Name: w.Name, Bytes: w.bytes(asItIs)})
	}
	f.Memory = append(f.Memory, footprint.Footprint{Name: contender.RedisRate, Bytes: p.peerBytes()})
	return append(f.Algorithms(), f.Others()...)
}

// accounts are of the bars that are the page's subject, by what they are.
func (p Profile) accounts() map[string]func(finding.Bar) account {
	accounts := map[string]func(finding.Bar) account{
		"decisions/s against redis_rate, 1 caller": func(bar finding.Bar) account {
			return account{p.whereAlone(), p.changeAlone(bar.Bound), "for the savings: nothing but texts that are pinned; " + priceOfForms}
		},
		"p99 against redis_rate, 1 caller": func(finding.Bar) account {
			return account{"the longer a decision takes, the more of what else the machine does meets it", "what raises the decisions/s of 1 caller", "the same as for those"}
		},
	}
	for _, callers := range []int{64, 256} {
		accounts[fmt.Sprintf("decisions/s against the bare counter through rueidis, %d callers", callers)] = func(finding.Bar) account {
			return account{p.whereCrowded(callers), p.changeCrowded(callers), priceOfForms}
		}
	}
	for _, w := range p.Memory {
		accounts["Redis memory a subject against redis_rate, "+strings.TrimPrefix(w.Name, "edgelimit ")] = func(finding.Bar) account {
			return account{p.whereMemory(w), p.changeMemory(w), priceOfWays}
		}
	}
	for _, d := range p.Findings.Dual {
		accounts[fmt.Sprintf("dual layer against two calls, window %v, callers %d", d.Window, d.Callers)] = func(bar finding.Bar) account {
			return accountOfDual(d, bar.Bound)
		}
	}
	return accounts
}

// accountOfDual has nothing to say of logs that take less than nothing: then the bar
// is met.
func accountOfDual(d finding.Dual, bound float64) account {
	call, log := parted(d)
	if d.Both.Void() || d.Twice.Void() || call <= 0 {
		return unaccounted(unmeasurable)
	}
	return account{
		fmt.Sprintf("a call takes %s µs whatever it asks, each log %s µs more; commands a decision: %s, by two calls %s",
			figure(call, 1), figure(log, 1), figure(d.Both.Figures.Commands, 1), figure(d.Twice.Figures.Commands, 1)),
		fmt.Sprintf("a log of %s µs, or single calls that share no write", figure(affordable(call, bound), 1)),
		"the exact log, for counters; or the rate of single calls",
	}
}

// each is a figure of each algorithm.
func each(of func(name string) float64, decimals int) string {
	var all []float64
	for _, name := range finding.Algorithms {
		all = append(all, of(name))
	}
	return figures(all, decimals, " / ")
}

func (p Profile) cpu(callers int, name string) float64 { return p.of(callers, name).Figures.CPU }

func (p Profile) whereCrowded(callers int) string {
	counter := p.of(callers, contender.BareCounter)
	return fmt.Sprintf("Redis is busy %s of a second: a decision takes %s µs of its CPU and the counter %s; in scripts, waiting for a core included, %s and %s",
		each(func(name string) float64 { return busy(p.of(callers, name)) }, 2),
		each(func(name string) float64 { return p.cpu(callers, name) }, 1), figure(counter.Figures.CPU, 1),
		each(func(name string) float64 { return p.of(callers, name).Figures.Scripts }, 1), figure(counter.Figures.Scripts, 1))
}

// whereAlone leaves out what the callers take where that was not looked into.
func (p Profile) whereAlone() string {
	peer := p.of(1, contender.RedisRate)
	text := fmt.Sprintf("CPU of Redis is %s of %s µs a decision, of redis_rate's %s it is %s; in scripts, waiting for a core included, %s and %s; what is not CPU of Redis: %s and %s",
		each(func(name string) float64 { return p.cpu(1, name) }, 0),
		each(func(name string) float64 { return 1e6 / p.of(1, name).Figures.PerSecond }, 0), figure(1e6/peer.Figures.PerSecond, 0), figure(peer.Figures.CPU, 0),
		each(func(name string) float64 { return p.of(1, name).Figures.Scripts }, 0), figure(peer.Figures.Scripts, 0),
		each(func(name string) float64 { return elsewhere(p.of(1, name)) }, 0), figure(elsewhere(peer), 0))
	ours, theirs := p.sampled(1, contender.TokenBucket), p.sampled(1, contender.RedisRate)
	if ours.Decisions > 0 && theirs.Decisions > 0 {
		text += fmt.Sprintf(", of which the callers' own CPU %s (token bucket) and %s, reading and waiting for the network in it %s and %s",
			figure(ours.micros(ours.Total), 0), figure(theirs.micros(theirs.Total), 0),
			figure(ours.micros(ours.waiting()), 1), figure(theirs.micros(theirs.waiting()), 1))
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

// waiting is what a reply takes of a caller.
func (s Sampled) waiting() time.Duration {
	return s.Parts[cputime.Read] + s.Parts[cputime.Wait]
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
