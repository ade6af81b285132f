package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/edgelimit/edgelimit/scripts/drill/internal/tally"
)

// Text is the page.
func (r Report) Text() string {
	var b strings.Builder
	b.WriteString(opening)
	table(&b, []string{"the run", ""}, r.facts())
	b.WriteString(told)
	b.WriteString("\n## The accepted risk\n")
	for _, s := range r.Scenarios {
		b.WriteString("\n" + s.Risk(r) + "\n")
	}
	b.WriteString(bounds)
	b.WriteString(figuresIntroduction)
	for _, s := range r.Scenarios {
		b.WriteString("\n### " + s.Name() + "\n\n" + s.Felt() + "\n\n")
		table(&b, columns, s.rows())
		b.WriteString("\n")
		table(&b, []string{"beside", ""}, s.facts())
	}
	b.WriteString(checkedIntroduction)
	for _, s := range r.Scenarios {
		b.WriteString("\n" + s.Name() + ":\n\n")
		for _, claim := range r.Claims(s) {
			verdict := ""
			if !claim.Holds {
				verdict = "**does not hold:** "
			}
			b.WriteString("- " + verdict + claim.Sentence + "\n")
		}
	}
	b.WriteString(choice)
	return b.String()
}

func (r Report) facts() [][]string {
	return [][]string{
		{"date", r.Date},
		{"form", r.Form},
		{"command", r.Command},
		{"code", r.Code},
		{"redis", r.Redis},
		{"machine", r.Machine},
		{"gateway processes", strconv.Itoa(r.Replicas)},
		{"window", r.Window.String()},
		{"limit of the tenant, a window", strconv.Itoa(r.Limit)},
		{"load, requests a second", strconv.Itoa(r.Rate)},
		{"command-timeout", r.Timeout.String()},
	}
}

var columns = []string{
	"", "s", "requests", "200", "429", "503", "other", "local",
	"typical", "worst", "by Redis", "by one replica", "p50 ms", "p99 ms", "slowest ms",
}

func (s Scenario) rows() [][]string {
	var rows [][]string
	for i, f := range s.Phases {
		typical := "-"
		if f.Typical >= 0 {
			typical = strconv.Itoa(f.Typical)
		}
		row := []string{tally.Names[i], tenths(f.Length)}
		for _, n := range []int{f.Requests, f.Admitted, f.Denied, f.Refused, f.Failed, f.Local} {
			row = append(row, strconv.Itoa(n))
		}
		row = append(row, typical, strconv.Itoa(f.Worst), strconv.Itoa(f.WorstByRedis), strconv.Itoa(f.WorstByReplica))
		rows = append(rows, append(row, hundredths(f.P50), hundredths(f.P99), hundredths(f.Slowest)))
	}
	return rows
}

func (s Scenario) facts() [][]string {
	return [][]string{
		{"/readyz in the outage", strconv.Itoa(s.Readyz)},
		{"counted by the replicas' metrics", strconv.Itoa(s.Counted)},
		{"seen by the upstream", strconv.Itoa(s.Upstream)},
		{"the new Redis answers after, ms", millis(s.Answered)},
		{"the first replica has its answer after, ms", millis(s.First)},
		{"the last replica has its answer after, ms", millis(s.Last)},
	}
}

// table writes a Markdown table whose first column is words and whose others are
// figures.
func table(b *strings.Builder, head []string, rows [][]string) {
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(head)
	rule := "|---" + strings.Repeat("|--:", len(head)-1) + "|\n"
	if len(head) == 2 {
		rule = "|---|---|\n"
	}
	b.WriteString(rule)
	for _, row := range rows {
		line(row)
	}
}

func tenths(d time.Duration) string {
	return fmt.Sprintf("%d.%d", d/time.Second, d%time.Second/(100*time.Millisecond))
}

func hundredths(d time.Duration) string {
	return fmt.Sprintf("%d.%02d", d/time.Millisecond, d%time.Millisecond/(10*time.Microsecond))
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
