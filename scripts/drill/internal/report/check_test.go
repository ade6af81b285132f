package report_test

import (
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/scripts/drill/internal/report"
	"github.com/edgelimit/edgelimit/scripts/drill/internal/tally"
)

func TestCheck_acceptsTheReportOfThisCode(t *testing.T) {
	if err := report.Check(played().Text(), code); err != nil {
		t.Error(err)
	}
}

func TestCheck_acceptsFailClosedAlone(t *testing.T) {
	r := played()
	r.Scenarios = r.Scenarios[2:]
	if err := report.Check(r.Text(), code); err != nil {
		t.Error(err)
	}
}

func TestCheck_refusesAPageThatWasEdited(t *testing.T) {
	risk := played().Scenarios[0].Risk(played())
	for _, row := range []struct{ sentence, old, new, want string }{
		{"of other code", code, "fedcba9876543210", "it is of the code fedcba9876543210, and this is " + code},
		{"of the short form", "| form | full |", "| form | short |", "of the short form"},
		{"without the risk", risk + "\n", "", "does not state the risk"},
		{"with the risk in a sentence that goes on", risk, risk + " It is small.", "does not state the risk"},
		{"with a smaller figure in the risk", "admitted 600 requests", "admitted 400 requests", "does not state the risk"},
		{"with a smaller figure in the table", "| 600 | 600 | 0 | 300 |", "| 540 | 540 | 0 | 300 |", "does not state the risk"},
		{"without fail-closed's figure", "0 of 9000 requests were admitted", "none was admitted", "does not state the risk"},
		{"with a lower limit", "| limit of the tenant, a window | 300 |", "| limit of the tenant, a window | 200 |", "does not hold"},
		{"with answers that do not add up", "| outage | 14.0 | 9000 |", "| outage | 14.0 | 9100 |", "add up to 9000 of 9100"},
		{"with a changed latency", "99 % within 12.00 ms", "99 % within 2.00 ms", "is not what the figures give"},
		{"with a weaker claim", "- in the outage nothing was admitted: 0 of 9000\n", "", "is not what the figures give"},
		{"with other advice", "## How to choose", "## How to decide", "is not what the figures give"},
		{"with a figure that is no number", "| 9000 |", "| most |", "cannot be read"},
	} {
		text := played().Text()
		if !strings.Contains(text, row.old) {
			t.Fatalf("%s: the page has no %q", row.sentence, row.old)
		}
		err := report.Check(strings.Replace(text, row.old, row.new, 1), code)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", row.sentence, err, row.want)
		}
	}
}

func TestCheck_refusesAPageThatEndsEarlyOrLate(t *testing.T) {
	text := played().Text()
	for _, other := range []string{text + "More.\n", text[:strings.LastIndex(text, "\n- ")]} {
		if err := report.Check(other, code); err == nil {
			t.Errorf("a page of %d bytes instead of %d was accepted", len(other), len(text))
		}
	}
}

func TestCheck_refusesFiguresThatBreakAClaim(t *testing.T) {
	r := played()
	r.Scenarios[1].Phases[tally.Outage].Worst = 301
	err := report.Check(r.Text(), code)
	if err == nil || !strings.Contains(err.Error(), "it does not hold that in the outage 2 replicas admitted") {
		t.Errorf("got %v, want the claim that does not hold", err)
	}
}
