package slidinglogtest

import (
	"errors"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

const (
	outageLimit = 1000
	outageCalls = 20
	comeBack    = 15 * time.Second // for a store that is back to be found
	askEvery    = 10 * time.Millisecond
)

// holdOutage takes the store away under a limiter and gives it back: in between
// nothing is allowed, and afterwards the logs hold what was allowed, and of what
// failed nothing but calls whose fate nobody knew.
func holdOutage(t *testing.T, h Harness) {
	l, keys := h.New(t, minute), newKeyring()
	if l.Lose == nil {
		return
	}
	l.SetNow(startMicros)
	call := dual(0, outageLimit, ann, outageLimit, yes(left(outageLimit-1, minute), left(outageLimit-1, minute)))
	if got, want := byContext(t, l, keys, call); !want.is(got) {
		t.Fatalf("before: got %+v, want %+v", got, want)
	}
	restore := l.Lose()
	unknown := 0
	for range outageCalls {
		for _, by := range []caller{byContext, plainly} {
			got, _ := by(t, l, keys, call)
			unknown += demandOutage(t, got)
			got, _ = by(t, l, keys, single(0, address, outageLimit, answer{}))
			demandOutage(t, got)
		}
	}
	restore()
	got, more := awaitAnswer(t, l, keys, call)
	if fewest, most := outageLimit-2-unknown-more, outageLimit-2; !got.verdict.Allowed ||
		got.verdict.Outer != got.verdict.Inner || got.verdict.Outer.Remaining < fewest || got.verdict.Outer.Remaining > most {
		t.Errorf("once back: got %+v, want allowed with %d to %d left of both layers", got.verdict, fewest, most)
	}
}

// demandOutage demands that a call failed by an outage, and says how many calls
// that failed so may have been counted.
func demandOutage(t *testing.T, got answer) (unknown int) {
	t.Helper()
	switch {
	case got.verdict != (slidinglog.Verdict{}):
		t.Errorf("a store that is gone: got %+v", got)
	case errors.Is(got.err, slidinglog.ErrUnknown):
		return 1
	case !errors.Is(got.err, slidinglog.ErrUnavailable):
		t.Errorf("a store that is gone: got %v, want ErrUnavailable or ErrUnknown", got.err)
	}
	return 0
}

// awaitAnswer asks until the store is found again.
func awaitAnswer(t *testing.T, l Limiters, keys keyring, s step) (got answer, unknown int) {
	t.Helper()
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for began := time.Now(); ; <-tick.C {
		if got, _ = byContext(t, l, keys, s); got.err == nil {
			return got, unknown
		}
		unknown += demandOutage(t, got)
		if time.Since(began) > comeBack {
			t.Fatalf("a store that is back: still %v after %v", got.err, comeBack)
		}
	}
}
