package report_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/scripts/drill/internal/report"
	"github.com/edgelimit/edgelimit/scripts/drill/internal/tally"
)

const code = "0123456789abcdef"

// played is a drill in which all that is claimed holds.
func played() report.Report {
	return report.Report{
		Date: "2031-05-06 07:08 UTC", Form: report.Full, Command: "scripts/outage-drill.sh", Code: code,
		Redis: "7.0.15", Machine: "linux/amd64, 2 CPUs, go1.26", Replicas: 2, Window: 4 * time.Second, Limit: 300, Rate: 600, Timeout: time.Second,
		Scenarios: []report.Scenario{fallback(1, 300), fallback(2, 150), closed()},
	}
}

// phase has the times of a phase in which Redis, or the fallback, answered.
func phase(f tally.Figures) tally.Figures {
	f.Length, f.P50, f.P99, f.Slowest = 14*time.Second, 1230*time.Microsecond, 12*time.Millisecond, 40050*time.Microsecond
	f.Requests = f.Admitted + f.Denied + f.Refused + f.Failed
	return f
}

func fallback(replicas, part int) report.Scenario {
	s := report.Scenario{Policy: report.LocalFallback, Replicas: replicas, Readyz: 200}
	healthy := phase(tally.Figures{Admitted: 1000, Denied: 7000, Typical: 300, Worst: 300, WorstByRedis: 300})
	s.Phases[tally.Before], s.Phases[tally.After] = healthy, healthy
	s.Phases[tally.Outage] = phase(tally.Figures{Admitted: 9 * part, Denied: 5000, Local: 9*part + 5000, Typical: 2 * part, Worst: 2 * part, WorstByReplica: part})
	s.Phases[tally.AroundKill] = phase(tally.Figures{Admitted: 900, Denied: 3000, Local: 2000, Typical: -1, Worst: 300 + 2*part, WorstByRedis: 300, WorstByReplica: part})
	s.Phases[tally.AroundReturn] = phase(tally.Figures{Admitted: 800, Denied: 3000, Local: 2000, Typical: -1, Worst: 297 + 2*part, WorstByRedis: 300, WorstByReplica: part})
	s.Phases[tally.Whole] = phase(tally.Figures{Admitted: 6000, Denied: 20000, Local: 9100, Typical: -1, Worst: 300 + 2*part, WorstByRedis: 300, WorstByReplica: part})
	s.Counted, s.Upstream = 9100, 6000
	s.Answered, s.First, s.Last = 50*time.Millisecond, 600*time.Millisecond, 700*time.Millisecond
	return s
}

func closed() report.Scenario {
	s := fallback(1, 0)
	s.Policy, s.Readyz = report.FailClosed, 503
	s.Phases[tally.Outage] = phase(tally.Figures{Refused: 9000})
	s.Phases[tally.AroundKill] = phase(tally.Figures{Admitted: 300, Refused: 2000, Typical: -1, Worst: 300, WorstByRedis: 300})
	s.Phases[tally.AroundReturn] = s.Phases[tally.AroundKill]
	s.Phases[tally.Whole] = phase(tally.Figures{Admitted: 2000, Denied: 14000, Refused: 9500, Typical: -1, Worst: 300, WorstByRedis: 300})
	s.Counted, s.Upstream = 9500, 2000
	return s
}

func TestRisk_isStatedWithItsFigures(t *testing.T) {
	r := played()
	for i, want := range []string{
		"With `local-fallback` and `replicas: 1` the accepted risk is that during an outage each replica counts alone: 2 replicas admitted 600 requests in a window whose limit is 300 (2.00 times the limit). " +
			"In a window around the kill it was 900 (3.00 times the limit), because what Redis had counted is forgotten; around the return it was 897 (2.99 times the limit), because Redis comes back empty.",
		"With `local-fallback` and `replicas: 2` the accepted risk is that during an outage each replica counts alone: 2 replicas admitted 300 requests in a window whose limit is 300 (1.00 times the limit). " +
			"In a window around the kill it was 600 (2.00 times the limit), because what Redis had counted is forgotten; around the return it was 597 (1.99 times the limit), because Redis comes back empty.",
		"With `fail-closed` there is no excess to accept, and no service: during the outage 0 of 9000 requests were admitted, 9000 were answered 503, and the limit held in every window of the run, at most 300 of 300.",
	} {
		if got := r.Scenarios[i].Risk(r); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if !strings.Contains(r.Text(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestRead_takesEveryFigureFromThePage(t *testing.T) {
	want := played()
	want.Scenarios[0].Phases[tally.After].Failed = 3
	got, err := report.Read(want.Text())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestRead_refusesWhatNoDrillWrote(t *testing.T) {
	text := played().Text()
	for _, row := range []struct{ sentence, old, new, want string }{
		{"an empty page", text, "", "no outage policy"},
		{"another policy", "### fail-closed", "### fail-open", `"fail-open" is no outage policy`},
		{"no replicas", "### local-fallback, replicas: 2", "### local-fallback, replicas: 0", "has no replica"},
		{"fail-closed among replicas", "### fail-closed", "### fail-closed, replicas: 2", "is no outage policy"},
		{"a count in words", "| 9000 |", "| many |", `"many" is no count`},
		{"a negative count", "| 9000 |", "| -1 |", `"-1" is no count`},
		{"a time in words", "| 1.23 |", "| fast |", `"fast" is no time in ms`},
		{"a cell too many", "| outage | 14.0 |", "| outage | 14.0 | 1 |", "cells"},
	} {
		_, err := report.Read(strings.Replace(text, row.old, row.new, 1))
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", row.sentence, err, row.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(played().Text())
	f.Add("### fail-closed\n| outage | - |\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := report.Read(text)
		if err != nil {
			return
		}
		page := r.Text()
		again, err := report.Read(page)
		if err != nil {
			t.Fatalf("the page of a report that was read cannot be read: %v", err)
		}
		if again.Text() != page {
			t.Errorf("it is another page when read again")
		}
	})
}
