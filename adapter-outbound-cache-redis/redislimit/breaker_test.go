package redislimit_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

func (r *rig) expectBreaker(want string) {
	r.t.Helper()
	if got := r.provider.Connection().Breaker(); got != want {
		r.t.Errorf("the breaker is %s, want %s", got, want)
	}
}

func TestBreaker_opensAfterItsFailuresAndADeadServerCostsMicroseconds(t *testing.T) {
	server := redistest.Start(t)
	r := newRig(t, server, func(c *redislimit.Config) { c.Redis.Addr, c.Redis.BreakerProbeEvery = server.Addr(), time.Minute })
	r.server.Kill(t)
	// Idle connections are found closed, so that each call ends in a dial.
	for range 4 {
		r.expect("token-bucket", subject(), 1, "unavailable CONNECTION")
		r.expectBreaker("closed")
	}
	r.expect("token-bucket", subject(), 1, "unavailable CONNECTION")
	r.expectBreaker("open")
	took := make([]time.Duration, 2001)
	who := subject()
	for i := range took {
		began := time.Now()
		o := r.evaluate("token-bucket", who, 1)
		took[i] = time.Since(began)
		if say(o) != "unavailable CONNECTION" {
			t.Fatalf("got %s", say(o))
		}
	}
	slices.Sort(took)
	t.Logf("median %v, p99 %v", took[1000], took[1980])
	if took[1000] > 500*time.Microsecond {
		t.Errorf("a refusal takes %v in the median, want microseconds", took[1000])
	}
}

func TestBreaker_letsOneProbePassPerInterval(t *testing.T) {
	const every, failures = 300 * time.Millisecond, 5
	r := newRig(t, redistest.Start(t), func(c *redislimit.Config) {
		c.Redis.CommandTimeout, c.Redis.BreakerProbeEvery = 100*time.Millisecond, every
	})
	before := r.link.Forwarded("EVALSHA")
	r.link.Fault("EVALSHA", -1, redistest.Silence())
	for range failures {
		r.expect("token-bucket", subject(), 1, "indeterminate")
	}
	r.expectBreaker("open")
	opened := time.Now()
	sent := func() int64 { return r.link.Forwarded("EVALSHA") - before - failures }
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for time.Since(opened) < 4*every {
				r.evaluate("token-bucket", subject(), 1)
			}
		})
	}
	callers.Wait()
	if got := sent(); got < 2 || got > 4 {
		t.Errorf("%d probes in four intervals, want 2 to 4", got)
	}
	r.link.Heal()
	r.eventually("close", func() bool {
		r.evaluate("token-bucket", subject(), 1)
		return r.provider.Connection().Breaker() == "closed"
	})
	r.expect("token-bucket", subject(), 1, allowed(policyLimit-1))
}

// A probe whose caller leaves, or whose dial is still in progress, does not use
// the breaker up.
func TestBreaker_aProbeThatTellsNothingIsFollowedByAnother(t *testing.T) {
	r := newRig(t, redistest.Start(t), func(c *redislimit.Config) {
		c.Redis.AdmissionWait, c.Redis.DialTimeout = 5*time.Millisecond, 400*time.Millisecond
	})
	r.link.Blackhole()
	r.eventually("open the breaker", func() bool {
		r.evaluate("token-bucket", subject(), 1)
		return r.provider.Connection().Breaker() == "open"
	})
	for began := time.Now(); time.Since(began) < time.Second; {
		if o := r.evaluate("token-bucket", subject(), 1); o.Allows() {
			t.Fatal("a black hole allows")
		}
	}
	r.link.Heal()
	if took := r.eventually("recover", func() bool { return r.evaluate("token-bucket", subject(), 1).Allows() }); took > 2*time.Second {
		t.Errorf("recovered after %v, want 2s at most", took)
	}
}

func TestBreaker_denialsNeverOpenIt(t *testing.T) {
	r := newRig(t, redistest.Start(t), func(c *redislimit.Config) { c.Redis.BreakerFailures = 1 })
	who := subject()
	r.expect("token-bucket", who, policyLimit, allowed(0))
	for range 50 {
		r.expect("token-bucket", who, 1, "denied 0")
	}
	r.expectBreaker("closed")
}

func TestBreaker_anAnswerBetweenFailuresKeepsItClosed(t *testing.T) {
	r := newRig(t, redistest.Start(t), func(c *redislimit.Config) { c.Redis.CommandTimeout, c.Redis.BreakerFailures = 20*time.Millisecond, 2 })
	for range 4 {
		r.link.Fault("EVALSHA", 1, redistest.Silence())
		r.expect("token-bucket", subject(), 1, "indeterminate")
		r.expectBreaker("closed")
		r.eventually("answer", func() bool { return r.evaluate("token-bucket", subject(), 1).Allows() })
		r.expectBreaker("closed")
	}
}

// Every caller gives up before the handshake is done, and still the pool warms
// and the breaker stays closed.
func TestBreaker_aDialSlowerThanAnyCallerWaitsStillLeadsToAPool(t *testing.T) {
	server := redistest.Start(t)
	r := newUnreadyRig(t, server, func(c *redislimit.Config) {
		link := redistest.NewLink(t, server.Addr())
		link.Fault("HELLO", -1, redistest.Delay(150*time.Millisecond))
		c.Redis.Addr, c.Redis.AdmissionWait, c.Redis.MaxInFlight = link.Addr(), 5*time.Millisecond, 64
	})
	burst := func() (served int) {
		var mu sync.Mutex
		var callers sync.WaitGroup
		for range 64 {
			callers.Go(func() {
				got := r.evaluate("token-bucket", subject(), 1)
				mu.Lock()
				defer mu.Unlock()
				if got.Allows() {
					served++
				} else if say(got) != "unavailable CONNECTION" && say(got) != "unavailable OVERLOADED" {
					t.Errorf("got %s", say(got))
				}
			})
		}
		callers.Wait()
		r.expectBreaker("closed")
		return served
	}
	if served := burst(); served != 0 {
		t.Errorf("%d of the first burst were served before any handshake could be done", served)
	}
	r.eventually("serve a whole burst", func() bool { return burst() == 64 })
}

// A server that hangs costs each interval one caller its wait, and the others
// nothing, although the probe's dial outlasts the caller who caused it.
func TestBreaker_aHangingServerCostsOneCallerAnInterval(t *testing.T) {
	const probeEvery, intervals, wait = 500 * time.Millisecond, 4, 100 * time.Millisecond
	r := newRig(t, redistest.Start(t), func(c *redislimit.Config) {
		c.Redis.AdmissionWait, c.Redis.CommandTimeout, c.Redis.BreakerProbeEvery = wait, 50*time.Millisecond, probeEvery
	})
	r.server.Pause(t)
	defer r.server.Resume(t)
	r.eventually("open the breaker", func() bool {
		r.evaluate("token-bucket", subject(), 1)
		return r.provider.Connection().Breaker() == "open"
	})
	r.link.Cut() // from here on each probe needs a dial, which hangs
	var waited atomic.Int64
	var callers sync.WaitGroup
	end := time.Now().Add(intervals * probeEvery)
	for range 4 {
		callers.Go(func() {
			tick := time.NewTicker(pollEvery)
			defer tick.Stop()
			for now := range tick.C {
				if now.After(end) {
					return
				}
				begun := time.Now()
				r.evaluate("token-bucket", subject(), 1)
				if time.Since(begun) >= wait {
					waited.Add(1)
				}
			}
		})
	}
	callers.Wait()
	if got := waited.Load(); got > intervals+1 {
		t.Errorf("%d callers waited in %d intervals, want one each", got, intervals)
	}
}
