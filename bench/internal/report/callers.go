package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/edgelimit/edgelimit/bench/internal/cputime"
)

// most is how many functions a list of them has, enough how many samples tell
// anything of a part or a function.
const (
	most   = 15
	enough = 5
)

// callers is where the callers' own time goes.
func (p Profile) callers(b *strings.Builder) {
	if len(p.Sampled) == 0 {
		return
	}
	b.WriteString("\n## The callers\n\nMicroseconds of CPU a decision, allowed:\n\n")
	head := []string{""}
	for _, s := range p.Sampled {
		name, _, _ := strings.Cut(s.Name, " (")
		head = append(head, name+", "+count(s.Callers, "caller"))
	}
	samples, all := []string{"samples"}, []string{"**all**"}
	for _, s := range p.Sampled {
		samples = append(samples, thousands(float64(s.Samples)))
		all = append(all, "**"+figure(s.micros(s.Total), 1)+"**")
	}
	rows := append([][]string{samples}, p.parts()...)
	table(b, head, append(rows, all))
	for _, s := range p.Sampled {
		if len(s.Own) > 0 {
			s.tops(b)
		}
	}
}

// parts are those of which enough was seen of anyone, and the rest.
func (p Profile) parts() [][]string {
	var rows [][]string
	rest := make([]time.Duration, len(p.Sampled))
	add := func(part cputime.Part, times []time.Duration) {
		row := []string{string(part)}
		for i, s := range p.Sampled {
			row = append(row, figure(s.micros(times[i]), 1))
		}
		rows = append(rows, row)
	}
	for _, part := range cputime.Parts() {
		times, seen := make([]time.Duration, len(p.Sampled)), false
		for i, s := range p.Sampled {
			times[i] = s.Parts[part]
			seen = seen || s.enough(times[i])
		}
		if seen && part != cputime.Unassigned {
			add(part, times)
			continue
		}
		for i := range rest {
			rest[i] += times[i]
		}
	}
	add(cputime.Unassigned, rest)
	return rows
}

// enough tells whether a time is of samples enough to tell anything.
func (s Sampled) enough(spent time.Duration) bool {
	return s.Samples*int64(spent) >= enough*int64(s.Total)
}

func (s Sampled) micros(spent time.Duration) float64 {
	return spent.Seconds() * 1e6 / float64(max(s.Decisions, 1))
}

// tops are the functions that ran most, and beside them those of this repository on
// whose behalf most ran.
func (s Sampled) tops(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s, %s: the functions that ran, and those of this repository with all that they called:\n\n", s.Name, count(s.Callers, "caller"))
	flat, own := s.top(s.Flat), s.top(s.Own)
	var rows [][]string
	for i := range max(len(flat), len(own)) {
		rows = append(rows, append(s.cells(flat, s.Flat, i), s.cells(own, s.Own, i)...))
	}
	table(b, []string{"ran", "share", "of this repository", "share"}, rows)
}

func (s Sampled) top(times map[string]time.Duration) []string {
	return slices.DeleteFunc(cputime.Top(times, most), func(name string) bool { return !s.enough(times[name]) })
}

func (s Sampled) cells(names []string, times map[string]time.Duration, i int) []string {
	if i >= len(names) {
		return []string{"", ""}
	}
	return []string{"`" + names[i] + "`", figure(100*float64(times[names[i]])/float64(s.Total), 1) + " %"}
}
