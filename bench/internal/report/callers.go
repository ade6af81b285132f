package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/edgelimit/edgelimit/bench/internal/cputime"
)

// most is how many functions a list of them has.
const most = 15

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
	var rows [][]string
	for _, part := range cputime.Parts() {
		row, any := []string{string(part)}, false
		for _, s := range p.Sampled {
			row = append(row, figure(s.micros(s.Parts[part]), 2))
			any = any || s.Parts[part] > 0
		}
		if any {
			rows = append(rows, row)
		}
	}
	all := []string{"**all**"}
	for _, s := range p.Sampled {
		all = append(all, "**"+figure(s.micros(s.Total), 2)+"**")
	}
	table(b, head, append(rows, all))
	for _, s := range p.Sampled {
		if len(s.Own) > 0 {
			s.tops(b)
		}
	}
}

func (s Sampled) micros(spent time.Duration) float64 {
	return spent.Seconds() * 1e6 / float64(max(s.Decisions, 1))
}

// tops are the functions that ran most, and beside them those of this repository on
// whose behalf most ran.
func (s Sampled) tops(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s, %s: the functions that ran, and those of this repository with all that they called:\n\n", s.Name, count(s.Callers, "caller"))
	flat, own := cputime.Top(s.Flat, most), cputime.Top(s.Own, most)
	var rows [][]string
	for i := range max(len(flat), len(own)) {
		rows = append(rows, append(s.cells(flat, s.Flat, i), s.cells(own, s.Own, i)...))
	}
	table(b, []string{"ran", "share", "of this repository", "share"}, rows)
}

func (s Sampled) cells(names []string, times map[string]time.Duration, i int) []string {
	if i >= len(names) {
		return []string{"", ""}
	}
	return []string{"`" + names[i] + "`", figure(100*float64(times[names[i]])/float64(s.Total), 1) + " %"}
}
