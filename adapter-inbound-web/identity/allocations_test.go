package identity_test

import (
	"testing"
)

func TestSubject_allocatesNothing(t *testing.T) {
	v := trusting(t)
	for _, row := range senders {
		if got := testing.AllocsPerRun(1000, func() { _, _ = v.Subject(row.request) }); got != 0 {
			t.Errorf("%s: %v allocations, want none", row.name, got)
		}
	}
}

// TestScrub_copiesForClaimsAlone: a request and its header, if there is something to
// leave out.
func TestScrub_copiesForClaimsAlone(t *testing.T) {
	v := trusting(t)
	for _, row := range senders {
		want := 0.0
		if row.claims {
			want = 4
		}
		if got := testing.AllocsPerRun(1000, func() { v.Scrub(row.request) }); got > want {
			t.Errorf("%s: %v allocations, want %v at most", row.name, got, want)
		}
	}
}

// TestForward_allocatesTheChainAndThreeLines: X-Forwarded-For is a text of its own.
func TestForward_allocatesTheChainAndThreeLines(t *testing.T) {
	v := trusting(t)
	for _, row := range senders {
		out := row.request.Header.Clone()
		if got := testing.AllocsPerRun(1000, func() { v.Forward(out, row.request) }); got > 5 {
			t.Errorf("%s: %v allocations, want 5 at most", row.name, got)
		}
	}
}
