package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/edgelimit/edgelimit/scripts/drill/internal/tally"
)

// Read takes the figures from the tables of a page. What the page says beside them
// is left to [Check].
func Read(text string) (Report, error) {
	var r Report
	in := reader{}
	scenario := -1
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "### "); ok {
			r.Scenarios = append(r.Scenarios, in.scenario(name))
			scenario++
		}
		cells, ok := cellsOf(line)
		switch {
		case !ok || len(cells) == 0:
		case scenario < 0:
			in.fact(&r, cells)
		default:
			in.figure(&r.Scenarios[scenario], cells)
		}
	}
	if len(r.Scenarios) == 0 {
		in.wrong("no outage policy was drilled")
	}
	return r, in.err
}

// cellsOf are the cells of a table's line.
func cellsOf(line string) ([]string, bool) {
	inner, ok := strings.CutPrefix(line, "| ")
	if !ok {
		return nil, false
	}
	inner, ok = strings.CutSuffix(inner, " |")
	return strings.Split(inner, " | "), ok
}

// reader keeps the first thing that is wrong.
type reader struct{ err error }

func (in *reader) wrong(format string, args ...any) {
	if in.err == nil {
		in.err = fmt.Errorf(format, args...)
	}
}

func (in *reader) count(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 1e9 {
		in.wrong("%q is no count", text)
		return 0
	}
	return n
}

// time is a number of units, exactly.
func (in *reader) time(text, unit string) time.Duration {
	d, err := time.ParseDuration(text + unit)
	if err != nil || d < 0 {
		in.wrong("%q is no time in %s", text, unit)
	}
	return d
}

func (in *reader) scenario(name string) Scenario {
	policy, replicas, local := strings.Cut(name, ", replicas: ")
	switch {
	case local && policy == LocalFallback:
		s := Scenario{Policy: policy, Replicas: in.count(replicas)}
		if s.Replicas < 1 {
			in.wrong("%q has no replica", name)
			s.Replicas = 1
		}
		return s
	case !local && policy == FailClosed:
		return Scenario{Policy: policy, Replicas: 1}
	}
	in.wrong("%q is no outage policy", name)
	return Scenario{Replicas: 1}
}

func (in *reader) fact(r *Report, cells []string) {
	value := cells[len(cells)-1]
	switch cells[0] {
	case "date":
		r.Date = value
	case "form":
		r.Form = value
	case "command":
		r.Command = value
	case "code":
		r.Code = value
	case "redis":
		r.Redis = value
	case "machine":
		r.Machine = value
	case "gateway processes":
		r.Replicas = in.count(value)
	case "window":
		r.Window = in.time(value, "")
	case "limit of the tenant, a window":
		r.Limit = in.count(value)
	case "load, requests a second":
		r.Rate = in.count(value)
	case "command-timeout":
		r.Timeout = in.time(value, "")
	}
}

func (in *reader) figure(s *Scenario, cells []string) {
	value := cells[len(cells)-1]
	switch cells[0] {
	case "/readyz in the outage":
		s.Readyz = in.count(value)
	case "counted by the replicas' metrics":
		s.Counted = in.count(value)
	case "seen by the upstream":
		s.Upstream = in.count(value)
	case "the new Redis answers after, ms":
		s.Answered = in.time(value, "ms")
	case "the first replica has its answer after, ms":
		s.First = in.time(value, "ms")
	case "the last replica has its answer after, ms":
		s.Last = in.time(value, "ms")
	}
	for i, name := range tally.Names {
		if cells[0] == name {
			s.Phases[i] = in.phase(cells)
		}
	}
}

func (in *reader) phase(cells []string) tally.Figures {
	if len(cells) != len(columns) {
		in.wrong("the row %q has %d cells, want %d", cells[0], len(cells), len(columns))
		return tally.Figures{}
	}
	f := tally.Figures{
		Length: in.time(cells[1], "s"), Typical: -1,
		P50: in.time(cells[12], "ms"), P99: in.time(cells[13], "ms"), Slowest: in.time(cells[14], "ms"),
	}
	if cells[8] != "-" {
		f.Typical = in.count(cells[8])
	}
	for _, c := range []struct {
		figure *int
		cell   string
	}{
		{&f.Requests, cells[2]}, {&f.Admitted, cells[3]}, {&f.Denied, cells[4]}, {&f.Refused, cells[5]},
		{&f.Failed, cells[6]}, {&f.Local, cells[7]},
		{&f.Worst, cells[9]}, {&f.WorstByRedis, cells[10]}, {&f.WorstByReplica, cells[11]},
	} {
		*c.figure = in.count(c.cell)
	}
	return f
}
