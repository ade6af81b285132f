package redislimit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// A call that has waited long gets another connection as long as there is room.
func TestPool_growsToItsBoundForThoseWhoWaitLong(t *testing.T) {
	t.Parallel()
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

// A connection that was idle for longer than a command may take serves on, whether its
// last caller waited or left.
func TestPool_anIdleConnectionServesOn(t *testing.T) {
	t.Parallel()
	const idle = 1500 * time.Millisecond
	r := newRig(t, redistest.Start(t), func(c *redislimit.Config) {
		c.Redis.CommandTimeout, c.Redis.MaxInFlight = time.Second, 1
	})
	who := subject()
	r.expect("token-bucket", who, 1, allowed(policyLimit-1))
	first := r.servedBy()
	<-time.After(idle)
	r.expect("token-bucket", who, 1, allowed(policyLimit-2))
	charged := r.leaveAlone(who)
	<-time.After(idle)
	r.expect("token-bucket", who, 1, allowed(policyLimit-3-charged))
	if got := r.servedBy(); got != first {
		t.Errorf("connections %s served, want %s alone", got, first)
	}
}

// servedBy names the connections whose last command was an evaluation.
func (r *rig) servedBy() string {
	r.t.Helper()
	var ids []string
	for line := range strings.Lines(fmt.Sprint(r.do("CLIENT", "LIST"))) {
		if strings.Contains(line, " cmd=evalsha ") {
			ids = append(ids, strings.Fields(line)[0])
		}
	}
	return strings.Join(ids, " ")
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
