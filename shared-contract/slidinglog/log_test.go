package slidinglog_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// naive is the rule read as plainly as can be: all calls for ever, none dropped.
type naive []int64

func (n naive) newest(now int64) int64 {
	for _, call := range n {
		now = max(now, call)
	}
	return now
}

func (n naive) counting(now, window int64) (live []int64) {
	for _, call := range n {
		if call+window > now {
			live = append(live, call)
		}
	}
	return live
}

// waits is how many whole milliseconds pass from the clock until fewer than limit
// calls count.
func (n naive) waits(clock, now, window int64, limit int) (millis int64) {
	for len(n.counting(max(clock+millis*1000, now), window)) >= limit {
		millis++
	}
	return millis
}

func TestAllow_isTheRuleReadPlainly(t *testing.T) {
	const window = 20_000 // microseconds
	random := rand.New(rand.NewPCG(1, 2))
	var (
		log   slidinglog.Log
		calls naive
		clock = int64(1_767_225_600_000_000)
	)
	for range 20_000 {
		switch random.IntN(10) {
		case 0:
			clock -= random.Int64N(window)
		case 1:
			clock += random.Int64N(2 * window)
		default:
			clock += random.Int64N(window / 10)
		}
		limit := 1 + random.IntN(20)
		now := calls.newest(clock)
		v, err := slidinglog.Allow(window*time.Microsecond, clock, &log, limit)
		if now-clock > window {
			if !errors.Is(err, slidinglog.ErrClockUnsafe) {
				t.Fatalf("got %+v, %v, want ErrClockUnsafe", v, err)
			}
			clock = now
			continue
		}
		allowed := len(calls.counting(now, window)) < limit
		if err != nil || v.Allowed != allowed {
			t.Fatalf("got %+v, %v, want allowed %v", v, err, allowed)
		}
		if allowed {
			calls = append(calls, now)
		} else if want := calls.waits(clock, now, window, limit); v.RetryAfter.Milliseconds() != want {
			t.Fatalf("got retry-after %v, want %d ms", v.RetryAfter, want)
		}
		if want := max(0, limit-len(calls.counting(now, window))); v.Outer.Remaining != want {
			t.Fatalf("got %d remaining, want %d", v.Outer.Remaining, want)
		}
		if want := calls.waits(clock, now, window, 1); v.Outer.ResetAfter.Milliseconds() != want {
			t.Fatalf("got reset-after %v, want %d ms", v.Outer.ResetAfter, want)
		}
		if len(calls) > 200 {
			calls = calls[len(calls)-100:]
		}
	}
}

// fill makes n calls, a microsecond apart, that end at end.
func fill(t testing.TB, log *slidinglog.Log, end int64, n int) {
	t.Helper()
	for i := range n {
		if v, err := slidinglog.Allow(time.Second, end-int64(n-1-i), log, n); err != nil || !v.Allowed {
			t.Fatalf("call %d: got %+v, %v", i, v, err)
		}
	}
}

func TestLog_memoryFollowsWhatItHolds(t *testing.T) {
	var log slidinglog.Log
	if _, ok := log.Newest(); ok || log.Len() != 0 || log.Cap() != 0 {
		t.Errorf("the zero Log holds %d, has room for %d", log.Len(), log.Cap())
	}
	now := int64(10_000_000)
	fill(t, &log, now, 100_000)
	if newest, _ := log.Newest(); newest != now || log.Len() != 100_000 || log.Cap() >= 200_000 {
		t.Errorf("full: newest %d, %d held, room for %d", newest, log.Len(), log.Cap())
	}
	for range 20 { // a call a second: all before it is gone
		now += 1_000_000
		fill(t, &log, now, 1)
	}
	if log.Len() != 1 || log.Cap() > 8 {
		t.Errorf("after a pause: %d held, room for %d", log.Len(), log.Cap())
	}
}

func TestAllow_steadyStateAllocatesNothing(t *testing.T) {
	var outer, inner slidinglog.Log
	now := int64(10_000_000)
	fill(t, &outer, now, 64)
	fill(t, &inner, now, 64)
	now += 1_000_000
	if got := testing.AllocsPerRun(10_000, func() {
		now += 20_000
		if v, _ := slidinglog.AllowDual(time.Second, now, &outer, 64, &inner, 64); !v.Allowed {
			t.Fatal("denied")
		}
		_, _ = slidinglog.Allow(time.Second, now, &outer, 1)
	}); got != 0 {
		t.Errorf("%v allocations a call, want none", got)
	}
}
