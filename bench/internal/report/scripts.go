package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/edgelimit/edgelimit/bench/internal/ablation"
	"github.com/edgelimit/edgelimit/bench/internal/race"
)

// shown are the callers of the races that are shown in full.
var shown = []int{1, 64}

// server is what a decision costs Redis in the races.
func (p Profile) server(b *strings.Builder) {
	b.WriteString("\n## Redis, a decision in the races\n\nAllowed. Microseconds, but for the rate and the busy share of a second.\n")
	for _, h := range p.Findings.Decisions {
		if !slices.Contains(shown, h.Callers) {
			continue
		}
		fmt.Fprintf(b, "\n%s over %s subjects:\n\n", count(h.Callers, "caller"), thousands(float64(h.Subjects)))
		var rows [][]string
		for _, r := range h.Results {
			rows = append(rows, p.serverRow(r))
		}
		table(b, []string{"", "decisions/s", "p99 ms", "time", "CPU of Redis", "busy", "in scripts", "in commands", "in Lua", "around"}, rows)
	}
}

func (p Profile) serverRow(r race.Result) []string {
	f := r.Figures
	return append([]string{r.Name}, unlessVoid(r.Void(),
		thousands(f.PerSecond), figure(f.P99, 3), figure(1e6/f.PerSecond, 1), figure(f.CPU, 1), figure(busy(r), 2),
		figure(f.Scripts, 1), figure(f.Given, 1), difference(f.Scripts, f.Given), difference(f.CPU, f.Scripts))...)
}

// scripts is what scripts cost by themselves.
func (p Profile) scripts(b *strings.Builder) {
	if len(p.Programs) == 0 {
		return
	}
	b.WriteString("\n## Redis, step by step\n\nMicroseconds that each step adds to a decision of one key, in a pipeline:\n\n")
	head := []string{""}
	for _, program := range p.Programs {
		head = append(head, program.Name)
	}
	table(b, head, p.steps())
	b.WriteString("\nWhole scripts in the pipeline, microseconds a decision:\n\n")
	p.wholes(b)
	b.WriteString("\nWhat the single programs could save with the same state, the same answers and every check, in microseconds a decision.\nTheir texts are pinned, so this is not done:\n\n")
	var rows [][]string
	for i, saving := range p.Programs[0].Savings {
		row := []string{saving.Name}
		for _, program := range p.Programs {
			row = append(row, saved(program, i))
		}
		rows = append(rows, row)
	}
	table(b, head, rows)
}

// saved is what one of the savings saves.
func saved(program ablation.Program, i int) string {
	if i == len(program.Savings)-1 && !together(program) {
		return unmeasurable
	}
	return difference(program.Whole.Script, program.Savings[i].Script)
}

func (p Profile) steps() [][]string {
	var rows [][]string
	for i, step := range p.Programs[0].Steps {
		row := []string{step.Name}
		for _, program := range p.Programs {
			before := 0.0
			if i > 0 {
				before = program.Steps[i-1].Script
			}
			row = append(row, difference(program.Steps[i].Script, before))
		}
		rows = append(rows, row)
	}
	all := []string{"**all**"}
	for _, program := range p.Programs {
		all = append(all, "**"+figure(program.Steps[len(program.Steps)-1].Script, 1)+"**")
	}
	return append(rows, all)
}

func (p Profile) wholes(b *strings.Builder) {
	var rows [][]string
	add := func(name string, c ablation.Cost) {
		rows = append(rows, []string{name, figure(c.Script, 1), figure(c.Given(), 1), difference(c.Script, c.Given()), figure(c.CPU, 1), listed(c.Within)})
	}
	for _, program := range p.Programs {
		add(program.Name, program.Whole)
	}
	add("redis_rate", p.RedisRate)
	add("bare counter", p.Counter)
	for _, program := range p.Programs {
		add(program.Name+", batch program, 1 key", program.One)
	}
	for _, program := range p.Programs {
		add(program.Name+", batch program, 64 keys", program.Batch)
	}
	for _, costs := range p.Forms {
		for i, keys := range []string{", 1 key", ", 64 keys"} {
			add(costs[i].Name+keys, costs[i])
		}
	}
	table(b, []string{"", "script", "in commands", "in Lua", "CPU of Redis", "commands"}, rows)
}

// listed is each command with its figure, the dearest first.
func listed(within map[string]float64) string {
	names := slices.SortedFunc(maps.Keys(within), func(a, b string) int {
		return cmp.Or(cmp.Compare(within[b], within[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = strings.ToUpper(name) + " " + figure(within[name], 1)
	}
	return strings.Join(names, ", ")
}
