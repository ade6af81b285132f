package duallog_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/duallog"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog/slidinglogtest"
)

func configFor(addr string, window time.Duration) duallog.Config {
	return duallog.Config{Window: window, Redis: coordination.Config{
		Addr: addr, DialTimeout: time.Second, CommandTimeout: 5 * time.Second, MaxInFlight: 32,
		BreakerFailures: 5, BreakerProbeEvery: 200 * time.Millisecond,
	}}
}

func open(t *testing.T, c duallog.Config) *duallog.RedisLimiter {
	t.Helper()
	limiter, err := duallog.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = limiter.Close() })
	return limiter
}

// onServer makes limiters whose clock a check sets, all on one server.
func onServer(server *redistest.Server) slidinglogtest.Harness {
	return slidinglogtest.Harness{New: func(t *testing.T, window time.Duration) slidinglogtest.Limiters {
		var now atomic.Int64
		link := redistest.NewLink(t, server.Addr())
		limiter := open(t, configFor(link.Addr(), window))
		limiter.SetClock(now.Load)
		return slidinglogtest.Limiters{
			Single: limiter, Dual: limiter.Dual(), SetNow: now.Store,
			Drop: func(keys ...string) { server.Do(t, append([]string{"DEL"}, keys...)...) },
			Lose: func() func() {
				link.Refuse()
				link.Cut()
				return link.Heal
			},
		}
	}}
}

func TestLimiter_holdsEveryScenario(t *testing.T) {
	slidinglogtest.Run(t, onServer(redistest.Start(t)))
}

func TestVectors_byTheLimiters(t *testing.T) {
	slidinglogtest.RunVectors(t, onServer(redistest.Start(t)))
}

func TestWalk_agreesWithTheModel(t *testing.T) {
	coverage := slidinglogtest.Walk(t, onServer(redistest.Start(t)), 1, 4000)
	t.Logf("\n%s", coverage.Report())
	if err := coverage.Check(100); err != nil {
		t.Error(err)
	}
}
