package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/edgelimit/edgelimit/bench/internal/contender"
	"github.com/edgelimit/edgelimit/bench/internal/finding"
	"github.com/edgelimit/edgelimit/bench/internal/race"
)

func (p Page) bars(b *strings.Builder) {
	b.WriteString("\n## The bars\n\nOf each algorithm:\n\n")
	var rows [][]string
	for _, bar := range p.Algorithms() {
		row := []string{bar.What, wanted(bar)}
		for _, got := range bar.Got {
			row = append(row, value(bar, got))
		}
		rows = append(rows, append(row, bar.Verdict()))
	}
	table(b, []string{"", "wanted", "fixed window", "sliding-window counter", "token bucket", ""}, rows)
	b.WriteString("\nOf the rest:\n\n")
	rows = nil
	for _, bar := range p.Others() {
		rows = append(rows, []string{bar.What, wanted(bar), value(bar, bar.Got[0]), bar.Verdict()})
	}
	table(b, []string{"", "wanted", "measured", ""}, rows)
}

func wanted(bar finding.Bar) string {
	word := "at least "
	if bar.AtMost {
		word = "at most "
	}
	return word + value(bar, bar.Bound)
}

func value(bar finding.Bar, v float64) string {
	switch {
	case finding.IsVoid(v):
		return "void"
	case bar.Absolute && v >= 1000:
		return thousands(v)
	case bar.Absolute:
		return figure(v, 1)
	}
	return times(v)
}

func (p Page) decisions(b *strings.Builder) {
	for _, h := range p.Decisions {
		fmt.Fprintf(b, "\n## %s over %s subjects\n\n", count(h.Callers, "caller"), thousands(float64(h.Subjects)))
		rates(b, h.Results)
	}
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return thousands(float64(n)) + " " + noun
}

// rates is a table of a race, each path against its own redis_rate.
func rates(b *strings.Builder, results []race.Result) {
	base := map[contender.Path]float64{} // 0 makes the ratio a dash
	for _, r := range results {
		if r.Name == contender.RedisRate && !r.Void() {
			base[r.Path] = r.Figures.PerSecond
		}
	}
	var rows [][]string
	for _, r := range results {
		f := r.Figures
		rows = append(rows, append([]string{r.Name, string(r.Path)}, unlessVoid(r.Void(),
			thousands(f.PerSecond), times(f.PerSecond/base[r.Path]), figure(f.P50, 3), figure(f.P99, 3),
			figure(f.Allocs, 1), figure(f.CPU, 2), figure(f.Commands, 2), figure(f.Trips, 3))...))
	}
	table(b, []string{"", "path", "decisions/s", "redis_rate", "p50 ms", "p99 ms", "allocs", "CPU µs", "commands", "trips"}, rows)
}

// unlessVoid is the cells, or void in place of each.
func unlessVoid(void bool, cells ...string) []string {
	if void {
		return slices.Repeat([]string{"void"}, len(cells))
	}
	return cells
}

func (p Page) growth(b *strings.Builder) {
	if len(p.Growth) == 0 {
		return
	}
	b.WriteString("\n## Growth\n\nOf callers, allowed:\n\n")
	curve(b, append(ofTwo(p.Decisions), p.Crowd...))
	b.WriteString("\nOf subjects, allowed:\n\n")
	curve(b, p.Growth)
}

func curve(b *strings.Builder, heats []finding.Heat) {
	var rows [][]string
	for _, h := range heats {
		for _, r := range h.Results {
			f := r.Figures
			rows = append(rows, append([]string{r.Name, thousands(float64(h.Callers)), thousands(float64(h.Subjects))},
				unlessVoid(r.Void(), thousands(f.PerSecond), figure(f.P50, 2), figure(f.P99, 2), figure(f.CPU, 2))...))
		}
	}
	table(b, []string{"", "callers", "subjects", "decisions/s", "p50 ms", "p99 ms", "CPU µs"}, rows)
}

// ofTwo is the races with only the contenders whose growth is shown.
func ofTwo(heats []finding.Heat) []finding.Heat {
	var kept []finding.Heat
	for _, h := range heats {
		two := finding.Heat{Race: h.Race}
		for _, r := range h.Results {
			if r.Path == contender.Allowed && (r.Name == contender.TokenBucket || r.Name == contender.RedisRate) {
				two.Results = append(two.Results, r)
			}
		}
		kept = append(kept, two)
	}
	return kept
}

func (p Page) memory(b *strings.Builder) {
	if len(p.Memory) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Memory of Redis, over %s subjects\n\n", thousands(float64(p.MemorySubjects)))
	base := math.NaN()
	for _, m := range p.Memory {
		if m.Name == contender.RedisRate {
			base = m.Bytes
		}
	}
	var rows [][]string
	for _, m := range p.Memory {
		rows = append(rows, []string{m.Name, figure(m.Bytes, 0), times(m.Bytes / base)})
	}
	table(b, []string{"", "bytes a subject", "redis_rate"}, rows)
}

func (p Page) dual(b *strings.Builder) {
	if len(p.Dual) == 0 {
		return
	}
	b.WriteString("\n## The dual layer\n\n")
	var rows [][]string
	for _, d := range p.Dual {
		base := d.Twice.Figures.PerSecond
		if d.Twice.Void() {
			base = 0 // makes the ratio a dash
		}
		for _, r := range []race.Result{d.Both, d.Twice} {
			f := r.Figures
			rows = append(rows, append([]string{r.Name + ", " + count(d.Callers, "caller")}, unlessVoid(r.Void(),
				thousands(f.PerSecond), times(f.PerSecond/base), figure(f.P50, 2), figure(f.P99, 2),
				figure(f.Allocs, 1), figure(f.CPU, 2), figure(f.Commands, 2), figure(f.Trips, 3))...))
		}
	}
	table(b, []string{"", "decisions/s", "two calls", "p50 ms", "p99 ms", "allocs", "CPU µs", "commands", "trips"}, rows)
}

func (p Page) gateway(b *strings.Builder) {
	if len(p.Gateway) == 0 && p.NoGateway == "" {
		return
	}
	b.WriteString("\n## The gateway\n\n")
	if p.NoGateway != "" {
		b.WriteString("Not measured: " + p.NoGateway + ".\n")
		return
	}
	var rows [][]string
	for _, r := range p.Gateway {
		rows = append(rows, append([]string{r.Name},
			unlessVoid(r.Void(), thousands(r.PerSecond), figure(r.P50, 2), figure(r.P99, 2))...))
	}
	table(b, []string{"", "requests/s", "p50 ms", "p99 ms"}, rows)
}

// wrong tells of decisions that were not what their path says. It is silent if there
// were none.
func (p Page) wrong(b *strings.Builder) {
	var rows [][]string
	for _, h := range slices.Concat(p.Decisions, p.Crowd, p.Growth) {
		for _, r := range h.Results {
			rows = append(rows, mistakes(r, count(h.Callers, "caller")+", "+count(h.Subjects, "subject"))...)
		}
	}
	for _, d := range p.Dual {
		rows = append(rows, append(mistakes(d.Both, "dual"), mistakes(d.Twice, "dual")...)...)
	}
	for _, r := range p.Gateway {
		if r.Wrong > 0 {
			rows = append(rows, []string{r.Name, "", "gateway", thousands(float64(r.Wrong)), thousands(float64(r.Requests)), "no 2xx"})
		}
	}
	if len(rows) > 0 {
		b.WriteString("\n## Wrong answers\n\nDecisions that were refused, failed or got the answer of another path. Beyond 0.1 % the figures are void.\n\n")
		table(b, []string{"", "path", "where", "how many", "of", "one of them"}, rows)
	}
}

func mistakes(r race.Result, where string) [][]string {
	if r.Wrong == 0 {
		return nil
	}
	return [][]string{{r.Name, string(r.Path), where, thousands(float64(r.Wrong)), thousands(float64(r.Decisions)), r.Failure.Error()}}
}
