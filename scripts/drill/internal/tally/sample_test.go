package tally_test

import (
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/scripts/drill/internal/tally"
)

const ms = time.Millisecond

// took is a sample from one instant to another, in milliseconds.
func took(begun, ended int) tally.Sample {
	return tally.Sample{Begun: time.Duration(begun) * ms, Ended: time.Duration(ended) * ms, Result: tally.Admitted}
}

func TestMost_countsWhatIsProvenToLieInOneWindow(t *testing.T) {
	for _, row := range []struct {
		sentence string
		samples  []tally.Sample
		want     int
	}{
		{"nothing", nil, 0},
		{"one", []tally.Sample{took(5, 6)}, 1},
		{"two that lie in less than a window", []tally.Sample{took(0, 1), took(98, 99)}, 2},
		{"two that span exactly a window may be in two", []tally.Sample{took(0, 1), took(99, 100)}, 1},
		{"one that was decided who knows when, before the window or in it", []tally.Sample{took(0, 60), took(50, 52), took(120, 121)}, 2},
		{"one that is longer than a window counts in none", []tally.Sample{took(0, 150)}, 0},
		{"and hides none that lies within it", []tally.Sample{took(0, 150), took(60, 61), took(155, 156)}, 2},
		{"the fullest of several", []tally.Sample{took(0, 1), took(300, 301), took(310, 311), took(320, 321), took(900, 901)}, 3},
		{"in the order of their ends", []tally.Sample{took(320, 321), took(0, 1), took(310, 311)}, 2},
	} {
		if got := tally.Most(row.samples, 100*ms); got != row.want {
			t.Errorf("%s: %d, want %d", row.sentence, got, row.want)
		}
	}
}

// An exact log of limit 10 under a load that is never late: no count may exceed
// the limit, and every window is full.
func TestMost_ofAnExactLogIsItsLimit(t *testing.T) {
	var log []int
	var admitted []tally.Sample
	for at := 0; at < 1000; at += 3 {
		for len(log) > 0 && log[0]+100 <= at {
			log = log[1:]
		}
		if len(log) < 10 {
			log = append(log, at)
			admitted = append(admitted, took(at-2, at+1))
		}
	}
	if got := tally.Most(admitted, 100*ms); got != 10 {
		t.Errorf("%d, want 10", got)
	}
	if got := tally.Most(append(admitted, took(8, 9)), 100*ms); got != 11 {
		t.Errorf("%d with one too many, want 11", got)
	}
}

func TestTypical_isTheMedianOfWholeWindows(t *testing.T) {
	samples := []tally.Sample{took(0, 10), took(0, 110), took(0, 120), took(0, 210), took(0, 220), took(0, 230), took(0, 310)}
	for _, row := range []struct {
		sentence string
		from, to int
		want     int
	}{
		{"windows of 1, 2 and 3", 0, 300, 2},
		{"what follows the last whole window does not count", 0, 399, 2},
		{"of two the lower", 100, 300, 2},
		{"no whole window", 0, 99, -1},
		{"what came before does not count", 300, 400, 1},
	} {
		if got := tally.Typical(samples, time.Duration(row.from)*ms, time.Duration(row.to)*ms, 100*ms); got != row.want {
			t.Errorf("%s: %d, want %d", row.sentence, got, row.want)
		}
	}
}

func TestLatency_isThatOfTheNearestRank(t *testing.T) {
	var samples []tally.Sample
	for i := range 200 {
		samples = append(samples, took(0, 200-i))
	}
	for percent, want := range map[int]time.Duration{1: 2 * ms, 50: 100 * ms, 99: 198 * ms, 100: 200 * ms} {
		if got := tally.Latency(samples, percent); got != want {
			t.Errorf("%d %%: %v, want %v", percent, got, want)
		}
	}
	if got := tally.Latency(nil, 50); got != 0 {
		t.Errorf("%v of nothing, want 0", got)
	}
}
