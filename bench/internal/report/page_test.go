package report_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/bench/internal/contender"
	"github.com/edgelimit/edgelimit/bench/internal/finding"
	"github.com/edgelimit/edgelimit/bench/internal/race"
	"github.com/edgelimit/edgelimit/bench/internal/report"
)

func TestPage_showsFiguresRatiosAndVerdicts(t *testing.T) {
	page := report.Page{
		Run: report.Run{Date: "today", Command: "make bench", Redis: "7", Machine: "m", Cores: 2, Load: []float64{2, 9, 0.5}, Rounds: 7, Slice: time.Second}, Few: 3,
		Findings: finding.Findings{
			NoGateway: "no wrk",
			Decisions: []finding.Heat{{Race: race.Race{Callers: 64, Subjects: 10_000}, Results: []race.Result{
				{Name: contender.TokenBucket, Path: contender.Allowed, Decisions: 1_234_000, Wrong: 1234, Failure: errors.New("it broke"),
					Figures: race.Figures{PerSecond: 123456.7, P50: 0.5, P99: 1.25, Allocs: 3.96, CPU: 4.5, Commands: 5, Trips: 0.0123}},
				{Name: contender.RedisRate, Path: contender.Allowed, Figures: race.Figures{PerSecond: 50_000, P99: 2.5, CPU: 9}},
				{Name: contender.GroupCommit, Path: contender.Allowed, Decisions: 1000, Wrong: 2, Failure: errors.New("busy"),
					Figures: race.Figures{PerSecond: 9_999_999}},
			}}},
		},
	}
	text := page.Text()
	for _, line := range []string{
		"| date | today |",
		"| command | `make bench` |",
		"| load average before | 2.00, 9.00, 0.50 |",
		"| decisions/s against redis_rate, 64 callers | at least 2.00x | - | - | 2.47x | not measured |",
		"| p99 against redis_rate, 64 callers | at most 1.00x | - | - | 0.50x | not measured |",
		"| allocations a decision, 64 callers | at most 4.0 | - | - | 4.0 | not measured |",
		"| decisions/s against redis_rate, 256 callers | at least 2.00x | - | - | - | not measured |",
		"| decisions/s with the batch program against group commit alone, 64 callers | at least 1.25x | void | void |",
		"| edgelimit token bucket, group commit alone | allowed |" + strings.Repeat(" void |", 8),
		"| rounds | 7; of the growth of subjects 3 |",
		"## 64 callers over 10,000 subjects",
		"| edgelimit token bucket | allowed | 123,457 | 2.47x | 0.500 | 1.250 | 4.0 | 4.50 | 5.00 | 0.012 |",
		"Not measured: no wrk.",
		"| edgelimit token bucket | allowed | 64 callers, 10,000 subjects | 1,234 | 1,234,000 | it broke |",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the page lacks the line\n%s", line)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestRun_saysWhenTheMachineWasBusy(t *testing.T) {
	rows := []struct {
		says string
		load []float64
		want bool
	}{
		{"more to do than cores", []float64{2.01, 0, 0}, true},
		{"as much as cores", []float64{2, 9, 9}, false},
		{"unknown", nil, false},
	}
	for _, row := range rows {
		run := report.Run{Cores: 2, Load: row.load}
		for _, text := range []string{report.Page{Run: run}.Text(), report.Profile{Run: run}.Text()} {
			if got := strings.Contains(text, "above its 2 cores. No figure here is evidence.**\n\n| the run"); got != row.want {
				t.Errorf("%s: told %t, want %t, in\n%.600s", row.says, got, row.want, text)
			}
		}
	}
}
