package history_test

import (
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
)

// clocks bounds how far the server's clock is ahead of clock, in microseconds.
type clocks struct{ least, most int64 }

const (
	readings   = 20    // enough that one of them is close
	correction = 1_000 // microseconds by which a machine may put its clock right at any time
)

// compare reads the server's clock between two readings of this machine's, some times, and keeps what all agree on, give
// or take a correction.
func compare(t *testing.T, s server.Server) clocks {
	t.Helper()
	var all clocks
	for n := range readings {
		before := clock() / 1000
		time := s.Do(t, "TIME").([]any)
		after := clock()/1000 + 1
		at := number(t, time[0])*1_000_000 + number(t, time[1])
		one := clocks{at - after, at + 1 - before}
		if n == 0 {
			all = one
		}
		all.least, all.most = max(all.least, one.least), min(all.most, one.most)
	}
	if all.least-all.most > correction {
		t.Fatalf("the server's clock was set: it cannot be ahead by at least %d us and at most %d us", all.least, all.most)
	}
	return clocks{all.least - correction, all.most + correction}
}

// and bounds it from the one comparison to the other, while the clocks' speeds may differ.
func (c clocks) and(other clocks) clocks {
	return clocks{min(c.least, other.least), max(c.most, other.most)}
}

// misdated are the answers of the edge port that give an instant at which the server cannot have decided. The model takes
// an instant as it is given, so that a program with a clock of its own would be explained without this.
func (c clocks) misdated(made []operation) []operation {
	var all []operation
	for _, o := range made {
		first, last := c.server(o.Start, o.End)
		if at := o.Decision.ObservedAtMillis * 1000; o.Fate == answered && (at+999 < first || at > last) {
			all = append(all, o)
		}
	}
	return all
}

// expectDated wants no answer of the edge port to be misdated.
func (c clocks) expectDated(t *testing.T, made []operation) {
	t.Helper()
	if found := c.misdated(made); len(found) > 0 {
		t.Errorf("%d of %d answers give an instant before or after their call, the first of them %v; the server is ahead by %+v us",
			len(found), len(made), found[0], c)
	}
}

// server is when the server can have decided what was asked and answered then.
func (c clocks) server(start, end int64) (first, last int64) {
	return start/1000 + c.least, end/1000 + 1 + c.most
}

func TestClocks_anInstantIsWithinItsCall(t *testing.T) {
	ahead := clocks{least: 5_000_000, most: 5_000_100}
	at := func(instant int64, f fate) operation {
		o := operation{Start: 10_000_000, End: 20_000_000, Fate: f} // 10 and 20 ms
		o.Decision.ObservedAtMillis = instant
		return o
	}
	for instant, want := range map[int64]int{5008: 1, 5009: 1, 5010: 0, 5015: 0, 5020: 0, 5021: 1, 15: 1} {
		if got := len(ahead.misdated([]operation{at(instant, answered), at(0, unknown)})); got != want {
			t.Errorf("at %d ms: %d misdated, want %d", instant, got, want)
		}
	}
}
