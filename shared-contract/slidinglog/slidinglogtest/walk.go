package slidinglogtest

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// Walk makes steps random calls of one tenant beside the model, in each of which
// the implementation must answer exactly as the model does: single and dual calls
// of three users, limits of 0 to 7 that change under way, and a clock that rests,
// meets windows to the microsecond, and also goes back, now and then too far. A
// walk is the same for the same seed. It returns what it has come through.
func Walk(t *testing.T, h Harness, seed uint64, steps int) Coverage {
	var coverage Coverage
	w := walk{
		random: rand.New(rand.NewPCG(seed, 0)), limiters: h.New(t, walkWindow), keys: newKeyring(),
		logs: map[string]*slidinglog.Log{}, now: startMicros,
	}
	for i := range steps {
		w.now += w.stride()
		w.limiters.SetNow(w.now)
		s := w.choose()
		held := w.newest(s) > w.now
		s.want = w.model(s)
		got, want := byContext(t, w.limiters, w.keys, s)
		if !want.is(got) {
			t.Fatalf("seed %d, step %d of %d, %+v:\n got %+v\nwant %+v", seed, i+1, steps, s, got, want)
		}
		coverage.Count(Passed{Dual: s.inner != "", Held: held, Verdict: got.verdict, Err: got.err})
		if errors.Is(got.err, slidinglog.ErrClockUnsafe) {
			w.now += 2 * walkWindow.Microseconds() // or the walk would rest here
		}
	}
	return coverage
}

const walkWindow = time.Second

type walk struct {
	random   *rand.Rand
	limiters Limiters
	keys     keyring
	logs     map[string]*slidinglog.Log
	now      int64
}

// stride is how far the clock goes before a call.
func (w walk) stride() int64 {
	window := walkWindow.Microseconds()
	switch n := w.random.IntN(100); {
	case n < 20:
		return 0
	case n < 60:
		return w.random.Int64N(window / 4)
	case n < 75: // to where some call stops counting, or just beside it
		return w.untilExpiry() + w.random.Int64N(3) - 1
	case n < 85:
		return w.random.Int64N(3 * window)
	case n < 90:
		return -w.random.Int64N(window / 2)
	default:
		return -w.random.Int64N(3 * window)
	}
}

func (w walk) untilExpiry() int64 {
	if log := w.logs[walkKeys[w.random.IntN(len(walkKeys))]]; log != nil {
		if newest, ok := log.Newest(); ok {
			return newest + walkWindow.Microseconds() - w.now
		}
	}
	return 0
}

var walkKeys = []string{tenant, ann, bob, keyAnn}

func (w walk) choose() step {
	key := walkKeys[w.random.IntN(len(walkKeys))]
	if key == tenant || w.random.IntN(5) == 0 {
		return single(0, key, w.random.IntN(8), answer{})
	}
	return dual(0, w.random.IntN(8), key, w.random.IntN(8), answer{})
}

// newest is the time of the last call that a log of s holds, 0 if they hold none.
func (w walk) newest(s step) int64 {
	var newest int64
	for _, key := range []string{s.outer, s.inner} {
		if log := w.logs[key]; log != nil {
			last, _ := log.Newest()
			newest = max(newest, last)
		}
	}
	return newest
}

func (w walk) model(s step) (a answer) {
	for _, key := range []string{s.outer, s.inner} {
		if w.logs[key] == nil {
			w.logs[key] = &slidinglog.Log{}
		}
	}
	if s.inner == "" {
		a.verdict, a.err = slidinglog.Allow(walkWindow, w.now, w.logs[s.outer], s.outerLimit)
	} else {
		a.verdict, a.err = slidinglog.AllowDual(walkWindow, w.now, w.logs[s.outer], s.outerLimit, w.logs[s.inner], s.innerLimit)
	}
	if a.err != nil {
		a.err = slidinglog.ErrClockUnsafe // its kind is enough
	}
	return a
}
