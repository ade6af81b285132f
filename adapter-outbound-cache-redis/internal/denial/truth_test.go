package denial_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// server is a fixed window that is full, on a clock of its own that reads whole
// milliseconds, as the programs do.
type server struct {
	ahead  time.Duration // of the client's clock
	window time.Duration
}

func (s server) millis(client time.Duration) time.Duration {
	return (client + s.ahead).Truncate(ms)
}

// admits is the first instant of the client's clock at which a denial of that
// instant would be an admission.
func (s server) admits(client time.Duration) time.Duration {
	return s.millis(client).Truncate(s.window) + s.window - s.ahead
}

func (s server) retryAfter(client time.Duration) time.Duration {
	return s.admits(client) + s.ahead - s.millis(client)
}

// TestCache_deniesNothingThatRedisWouldAdmit asks at random times, over a network of
// random speed, of servers whose milliseconds begin anywhere within the client's.
func TestCache_deniesNothingThatRedisWouldAdmit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	upTo := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
	const rounds = 100_000
	found, late := 0, 0
	for range rounds {
		s := server{ahead: upTo(time.Hour), window: (1 + upTo(50)) * ms}
		clock := &hand{at: upTo(time.Minute)}
		c := cache(t, 1, 10*ms+upTo(90*ms), clock.now)

		sent := clock.at
		decided := sent + upTo(1+upTo(5*ms))
		clock.at = decided + upTo(1+upTo(5*ms))
		admitted := s.admits(decided)
		c.Store(ann, denied(ann, s.retryAfter(decided)), sent, clock.at)

		clock.at += upTo(1 + s.window)
		got, hit := c.Lookup(ann)
		if !hit {
			continue
		}
		found++
		if admitted-clock.at < ms {
			late++
		}
		if clock.at >= admitted {
			t.Fatalf("denied %v after an admission", clock.at-admitted)
		}
		if truth := admitted - clock.at; got.RetryAfter < truth || got.RetryAfter%ms != 0 || got.Source != ratelimit.LocalDenialCache {
			t.Fatalf("got %+v, and a retry succeeds after %v", got, truth)
		}
	}
	if found < rounds/10 || late < 100 {
		t.Errorf("%d hits and %d within a millisecond of an admission are too few to show anything", found, late)
	}
}
