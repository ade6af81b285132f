package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/limiter"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog/slidinglogtest"
)

// clock is moved by hand.
type clock struct{ micros atomic.Int64 }

func (c *clock) now() int64 { return c.micros.Load() }

func (c *clock) advance(d time.Duration) { c.micros.Add(d.Microseconds()) }

// local is a limiter of c, with a clock that stands still unless c has one.
func local(t testing.TB, c limiter.LocalConfig) (*limiter.LocalLimiter, *clock) {
	t.Helper()
	var hand clock
	if c.Clock == nil {
		c.Clock = hand.now
	}
	l, err := limiter.NewLocalLimiter(c)
	if err != nil {
		t.Fatal(err)
	}
	return l, &hand
}

func harness(c limiter.LocalConfig) slidinglogtest.Harness {
	return slidinglogtest.Harness{New: func(t *testing.T, window time.Duration) slidinglogtest.Limiters {
		c.Window = window
		l, hand := local(t, c)
		return slidinglogtest.Limiters{Single: l, Dual: l.Dual(), SetNow: hand.micros.Store, Drop: l.Drop}
	}}
}

func TestLocal_keepsEveryPromiseOfTheLog(t *testing.T) {
	slidinglogtest.Run(t, harness(limiter.LocalConfig{}))
}

func TestLocal_keepsThemInTheLeastMemory(t *testing.T) {
	slidinglogtest.Run(t, harness(limiter.LocalConfig{Shards: 1, MaxKeys: 16, MaxAddressKeys: 2, MaxCalls: 2048}))
}

func TestLocal_VectorsEveryNumber(t *testing.T) {
	slidinglogtest.RunVectors(t, harness(limiter.LocalConfig{}))
}

func TestLocal_WalksBesideTheModel(t *testing.T) {
	for seed := range uint64(8) {
		slidinglogtest.Walk(t, harness(limiter.LocalConfig{}), seed, 5000)
	}
}

func TestNewLocalLimiter_listsEveryViolation(t *testing.T) {
	_, err := limiter.NewLocalLimiter(limiter.LocalConfig{Window: time.Microsecond, Shards: 4, MaxKeys: 7, MaxCalls: 3})
	for _, want := range []string{"window 1µs", "7 keys are too few for 4 shards", "3 calls are too few"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	for sentence, c := range map[string]limiter.LocalConfig{
		"a window of half a microsecond": {Window: time.Second + time.Nanosecond},
		"a window of two years":          {Window: 2 * 366 * 24 * time.Hour},
		"a window below 0":               {Window: -time.Second},
		"shards below 0":                 {Shards: -1},
		"too many shards":                {Shards: limiter.MaxShards + 1},
		"no room for a dual call":        {MaxKeys: 1},
		"keys below 0":                   {MaxKeys: -1},
		"addresses below 0":              {MaxAddressKeys: -1},
		"calls below 0":                  {MaxCalls: -1},
	} {
		if l, err := limiter.NewLocalLimiter(c); err == nil || l != nil {
			t.Errorf("%s: accepted", sentence)
		}
	}
}

func TestLocal_zeroValuesAreUnavailable(t *testing.T) {
	var none *limiter.LocalLimiter
	for sentence, l := range map[string]*limiter.LocalLimiter{"nil": none, "zero": new(limiter.LocalLimiter)} {
		if allowed, _, err := l.Allow("k", 1); allowed || !errors.Is(err, slidinglog.ErrUnavailable) {
			t.Errorf("%s: got %v, %v; want ErrUnavailable", sentence, allowed, err)
		}
	}
	var noDual *limiter.LocalDualLimiter
	for sentence, d := range map[string]*limiter.LocalDualLimiter{"nil": noDual, "zero": new(limiter.LocalDualLimiter), "of nil": none.Dual()} {
		if allowed, _, _, err := d.AllowDual("{t}", 1, "{t}u", 1); allowed || !errors.Is(err, slidinglog.ErrUnavailable) {
			t.Errorf("%s dual: got %v, %v; want ErrUnavailable", sentence, allowed, err)
		}
	}
}

// TestLocal_countsUnderAnyLimit: a function may give limits that no configuration
// would.
func TestLocal_countsUnderAnyLimit(t *testing.T) {
	l, _ := local(t, limiter.LocalConfig{})
	for _, limit := range []int{100_000, 100_001, 1 << 31, math.MaxInt} {
		key := fmt.Sprintf("rl:{%d}", limit)
		if allowed, left, err := l.Allow(key, limit); !allowed || left != limit-1 || err != nil {
			t.Errorf("limit %d: got %v, %d left, %v", limit, allowed, left, err)
		}
		if allowed, tenantLeft, userLeft, err := l.Dual().AllowDual(key, limit, key+":user:u", limit); !allowed || tenantLeft != limit-2 || userLeft != limit-1 || err != nil {
			t.Errorf("limit %d, dual: got %v, %d and %d left, %v", limit, allowed, tenantLeft, userLeft, err)
		}
	}
}

func TestLocal_aContextThatHasEndedCountsNothing(t *testing.T) {
	l, _ := local(t, limiter.LocalConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, single := l.AllowContext(ctx, "rl:{t}", 1)
	_, dual := l.Dual().AllowDualContext(ctx, "rl:{t}", 1, "rl:{t}:user:u", 1)
	for _, err := range []error{single, dual} {
		if !errors.Is(err, slidinglog.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want ErrUnavailable for a context that was cancelled", err)
		}
	}
	if _, err := l.AllowContext(ctx, "", 1); !errors.Is(err, slidinglog.ErrInvalid) {
		t.Errorf("a bad call as well: got %v, want ErrInvalid", err)
	}
	if allowed, _, err := l.Allow("rl:{t}", 1); !allowed || err != nil {
		t.Errorf("got %v, %v; want the whole limit left", allowed, err)
	}
}

// Without a clock the limiter runs on the time package's, which a test of this kind
// moves.
func TestLocal_theDefaultClockRunsWithTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := limiter.NewLocalLimiter(limiter.LocalConfig{Window: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			if allowed, _, _ := l.Allow("rl:{t}", 5); !allowed {
				t.Fatalf("call %d was denied", i)
			}
		}
		time.Sleep(time.Second - time.Microsecond)
		if v, _ := l.AllowContext(t.Context(), "rl:{t}", 5); v.Allowed || v.RetryAfter != time.Millisecond {
			t.Errorf("a microsecond early: got %+v", v)
		}
		time.Sleep(time.Microsecond)
		if allowed, left, _ := l.Allow("rl:{t}", 5); !allowed || left != 4 {
			t.Errorf("a window later: got %v, %d left; want the whole limit", allowed, left)
		}
	})
}

func TestLocal_freesMemoryWithoutTraffic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := limiter.NewLocalLimiter(limiter.LocalConfig{})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"rl:{a}", "rl:{b}", "rl:anon:x", "other"} {
			_, _, _ = l.Allow(key, 1)
			time.Sleep(10 * time.Second)
		}
		time.Sleep(2 * time.Minute)
		if l.Keys() != 0 || l.Calls() != 0 {
			t.Errorf("two idle windows later: %d keys with memory for %d calls, want none", l.Keys(), l.Calls())
		}
		_, _, _ = l.Allow("rl:{a}", 1)
		time.Sleep(3 * time.Minute) // the timer starts again
		if l.Keys() != 0 {
			t.Errorf("and again: %d keys, want none", l.Keys())
		}
	}) // which fails if a timer or a goroutine is left
}

func TestSweep_changesNoAnswer(t *testing.T) {
	const window = 3 * time.Second
	l, hand := local(t, limiter.LocalConfig{Window: window})
	kept, _ := local(t, limiter.LocalConfig{Window: window, Clock: hand.now})
	for i := range 3000 {
		hand.advance(time.Duration(i*i%997) * 7 * time.Millisecond)
		l.Sweep()
		got, err := l.AllowContext(t.Context(), "rl:{t}", 3)
		want, _ := kept.AllowContext(t.Context(), "rl:{t}", 3)
		if err != nil || got != want {
			t.Fatalf("call %d: got %+v, %v; want %+v", i, got, err, want)
		}
	}
	hand.advance(window + time.Second + time.Microsecond)
	if l.Sweep(); l.Keys() != 0 {
		t.Errorf("%d keys are left, want none", l.Keys())
	}
}
