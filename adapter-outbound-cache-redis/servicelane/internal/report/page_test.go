package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/report"
)

func page(suites ...report.Suite) report.Page {
	return report.Page{
		Source: "a binary", Command: "make service-lane", Began: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), Suites: suites,
	}
}

func TestVerdict_isAnErrorUnlessEverySuiteRanWhole(t *testing.T) {
	whole := report.Suite{Name: "promises", Passed: 1}
	if err := page(whole).Verdict(); err != nil {
		t.Errorf("a suite that passed: %v", err)
	}
	for sentence, p := range map[string]report.Page{
		"no suite":               page(),
		"a suite without a test": page(whole, report.Suite{Name: "faults"}),
		"a test that failed":     page(whole, report.Suite{Name: "faults", Passed: 1, Failed: 1}),
		"a test that skipped":    page(whole, report.Suite{Name: "faults", Passed: 1, Skipped: 1}),
	} {
		if p.Verdict() == nil {
			t.Errorf("%s: no error", sentence)
		}
	}
}

func TestServer_isOneOrADoubt(t *testing.T) {
	one := report.Suite{Server: "redis 7.0.15"}
	if got, err := page(one, one).Server(); got != "redis 7.0.15" || err != nil {
		t.Errorf("got %q, %v, want the server", got, err)
	}
	for sentence, p := range map[string]report.Page{
		"none": page(one, report.Suite{}), "two": page(one, report.Suite{Server: "valkey 8.0.1"}),
	} {
		if got, err := p.Server(); err == nil {
			t.Errorf("%s: got %q, want an error", sentence, got)
		}
	}
}

func TestText_showsCountsFaultsAndFigures(t *testing.T) {
	got, err := page(
		report.Suite{
			Name: "faults", Protocol: 2, Passed: 3, Seconds: 1.4, Server: "redis 7.0.15",
			Faults: []evidence.Fault{
				{Name: "the reply is lost"}, {Name: "a | b", Limiter: "sliding log"},
				{Name: "a | b", Limiter: "edge port", Calls: 3, Heard: "indeterminate", Charged: 2, Followed: "allowed"},
			},
		},
		report.Suite{Name: "promises", Protocol: 3, Passed: 1, Server: "redis 7.0.15", Figures: []evidence.Figure{{What: "steps", Value: "12"}}},
	).Text()
	if err != nil {
		t.Fatal(err)
	}
	want := `# Service lane: redis 7.0.15

Written by ` + "`make service-lane`" + ` on 2026-05-04 03:02 UTC. The server is a binary.

| suite | RESP | tests and rows passed | failed | skipped | seconds |
|---|--:|--:|--:|--:|--:|
| faults | 2 | 3 | 0 | 0 | 1 |
| promises | 3 | 1 | 0 | 0 | 0 |

## Faults, RESP2

| fault | limiter | calls | heard | charged | then |
|---|---|--:|---|--:|---|
| a \| b | edge port | 3 | indeterminate | 2 | allowed |
| a \| b | sliding log | 0 |  | 0 |  |
| the reply is lost |  | 0 |  | 0 |  |

## Promises, RESP3

| measured | |
|---|--:|
| steps | 12 |
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, strings.TrimSpace(want))
	}
}

func TestText_hasTheTitleThatIsGiven(t *testing.T) {
	p := page(report.Suite{Name: "partition", Passed: 1, Server: "redis 7.0.15"})
	p.Title = "Partitions"
	got, err := p.Text()
	if err != nil {
		t.Fatal(err)
	}
	if want := "# Partitions: redis 7.0.15\n"; !strings.HasPrefix(got, want) {
		t.Errorf("got %.40q, want it to begin with %q", got, want)
	}
}

func TestText_givesEachPartATableInItsOwnOrder(t *testing.T) {
	got, err := page(report.Suite{
		Name: "partition", Protocol: 2, Passed: 2, Server: "redis 7.0.15",
		Figures: []evidence.Figure{
			{Part: "Two", What: "c", Value: "3"}, {Part: "One", What: "b", Value: "1"}, {What: "a", Value: "0"}, {Part: "One", What: "a", Value: "2"},
		},
	}).Text()
	if err != nil {
		t.Fatal(err)
	}
	want := `
| measured | |
|---|--:|
| a | 0 |

### One

| measured | |
|---|--:|
| b | 1 |
| a | 2 |

### Two

| measured | |
|---|--:|
| c | 3 |
`
	if !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant it to end with\n%s", got, want)
	}
}
