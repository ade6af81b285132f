package redislimit_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// A call that has waited long gets another connection as long as there is room.
func TestPool_growsToItsBoundForThoseWhoWaitLong(t *testing.T) {
	const callers = 40
	r := newRig(t, redistest.Start(t), func(c *redislimit.Config) {
		c.Redis.MaxInFlight, c.Redis.CommandTimeout, c.Redis.AdmissionWait = callers, 8*time.Second, 2*time.Second
	})
	r.link.Fault("EVALSHA", callers, redistest.Delay(4*time.Second))
	r.occupy(callers, func() { r.expect("token-bucket", subject(), 1, allowed(policyLimit-1)) })()
	if got := r.link.MaxOpen() - 1; got != callers {
		t.Errorf("%d connections for %d callers", got, callers)
	}
}

// A connection that was idle for longer than a command may take, or whose last caller
// left, serves on.
func TestPool_idleConnectionsServeOn(t *testing.T) {
	const short = 50 * time.Millisecond
	r := newRig(t, redistest.Start(t), func(c *redislimit.Config) {
		c.Redis.CommandTimeout, c.Redis.DialTimeout, c.Redis.MaxInFlight = short, 2*short, 8
		c.Redis.BreakerFailures = 1 << 30 // the machine may be slow
	})
	dials := r.link.Dials()
	for range 4 {
		<-time.After(3 * short) // idle
		gone, leave := context.WithTimeout(t.Context(), callerDeadline)
		r.link.Fault("EVALSHA", 1, redistest.Delay(short/2))
		sent := r.link.Forwarded("EVALSHA")
		go func() {
			r.eventually("send", func() bool { return r.link.Forwarded("EVALSHA") > sent })
			leave()
		}()
		r.evaluateIn(gone, "token-bucket", subject(), 1)
		<-time.After(3 * short)
		if got := say(r.evaluate("token-bucket", subject(), 1)); got != allowed(policyLimit-1) && got != "indeterminate" {
			t.Errorf("got %s", got)
		}
	}
	if got := r.link.Dials() - dials; got > 2 {
		t.Errorf("%d dials of a pool that was warm, want none but what a slow machine costs", got)
	}
}

// Connections that stand still keep in line nobody who comes after.
func TestPool_aStalledConnectionHoldsUpNobodyElse(t *testing.T) {
	const callers, slow = 30, 4 * time.Second
	r := newRig(t, redistest.Start(t), func(c *redislimit.Config) {
		c.Redis.MaxInFlight, c.Redis.CommandTimeout, c.Redis.AdmissionWait = callers+2, 8*time.Second, 2*time.Second
	})
	r.link.Fault("EVALSHA", 2, redistest.Delay(slow))
	began := time.Now()
	wait := r.occupy(2, func() { r.expect("token-bucket", subject(), 1, allowed(policyLimit-1)) })
	for policy, outcomes := range map[string]map[string]int{
		"token-bucket": r.together(callers, "token-bucket"), "fixed-window": r.together(callers, "fixed-window"),
	} {
		if outcomes[allowed(policyLimit-1)] != callers {
			t.Errorf("%s: outcomes %v, want %d allowed", policy, outcomes, callers)
		}
	}
	if took := time.Since(began); took > slow {
		t.Errorf("the others were served after %v, with those who stood still", took)
	}
	wait()
}

// A place is free before its caller hears of the decision.
func TestPool_oneCallerAfterAnotherNeedsOnePlaceAndNoWait(t *testing.T) {
	r := newRig(t, redistest.Start(t), func(c *redislimit.Config) {
		c.Redis.MaxInFlight, c.Redis.AdmissionWait, c.Policies = 1, 0, largePolicies(t)
	})
	who := subject()
	for n := range int64(2000) {
		r.expect("token-bucket", who, 1, allowed(largeLimit-1-n))
	}
}

// One dial that breaks fails one of those in line, and the others are served.
func TestPool_aBrokenDialFailsNobodyWhileConnectionsAreOpen(t *testing.T) {
	const late = 6
	var gate atomic.Pointer[chan struct{}]
	var broken atomic.Bool
	r := newRig(t, redistest.Start(t), func(c *redislimit.Config) {
		addr := c.Redis.Addr
		c.Redis.AdmissionWait, c.Redis.CommandTimeout = 4*time.Second, 4*time.Second
		c.Redis.Resolve = func(ctx context.Context) (string, error) {
			if closed := gate.Load(); closed != nil {
				select {
				case <-*closed:
				case <-ctx.Done():
				}
			}
			if broken.CompareAndSwap(true, false) {
				return "", errors.New("broken once")
			}
			return addr, nil
		}
	})
	warm := r.provider.Connection().Stats().Open
	r.link.Fault("EVALSHA", warm, redistest.Delay(time.Second))
	var others sync.WaitGroup
	wait := r.occupy(warm, func() { r.expect("token-bucket", subject(), 1, allowed(policyLimit-1)) })
	opened := make(chan struct{})
	gate.Store(&opened)
	broken.Store(true)
	var served, failed atomic.Int64
	for range late {
		others.Go(func() {
			switch got := say(r.evaluate("token-bucket", subject(), 1)); got {
			case allowed(policyLimit - 1):
				served.Add(1)
			case "unavailable CONNECTION":
				failed.Add(1)
			default:
				t.Errorf("got %s", got)
			}
		})
	}
	r.eventually("stand in line", func() bool { return r.provider.Connection().Stats().Waiting == late })
	close(opened)
	others.Wait()
	wait()
	if served.Load() != late || failed.Load() != 0 {
		t.Errorf("%d served and %d failed, want %d and 0", served.Load(), failed.Load(), late)
	}
}
