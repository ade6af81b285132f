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

// server is when the server can have decided what was asked and answered then.
func (c clocks) server(start, end int64) (first, last int64) {
	return start/1000 + c.least, end/1000 + 1 + c.most
}
