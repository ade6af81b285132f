package redislimit_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

func TestAvailability_absentAtOpenAndReadyWithinTwoSecondsOfComing(t *testing.T) {
	server := redistest.Absent(t)
	r := newUnreadyRig(t, server, func(c *redislimit.Config) { c.Redis.Addr = server.Addr() })
	if err := r.firstAttempt(); err != nil {
		t.Errorf("a server that is away counts as one that refuses: %v", err)
	}
	if health := r.health(); health.Ready || health.Refused || len(health.Problems) == 0 {
		t.Errorf("health %+v, want not ready, and why", health)
	}
	for range 20 {
		r.expect("token-bucket", subject(), 1, "unavailable CONNECTION")
	}
	server.Restart(t)
	if took := r.eventually("be ready", func() bool { return r.health().Ready }); took > 2*time.Second {
		t.Errorf("ready %v after the server came, want 2s at most", took)
	}
	r.eventually("serve", func() bool { return say(r.evaluate("token-bucket", subject(), 1)) == allowed(policyLimit-1) })
}

func TestAvailability_healthTellsWithinASecondThatNobodyAnswers(t *testing.T) {
	for sentence, strike := range map[string]func(r *rig){
		"the server stands still":        func(r *rig) { r.server.Pause(r.t) },
		"the server is killed":           func(r *rig) { r.server.Kill(r.t) },
		"the network takes everything":   func(r *rig) { r.link.Blackhole() },
		"a script of somebody's is busy": func(r *rig) { block(r.t, r.server, "EVAL", "while true do end", 0) },
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, redistest.Start(t, "--busy-reply-threshold", "100"))
			strike(r)
			if took := r.eventually("tell", func() bool { return !r.health().Ready }); took > time.Second {
				t.Errorf("health told after %v, want 1s at most", took)
			}
			if len(r.health().Problems) == 0 {
				t.Error("health does not say why")
			}
			switch sentence {
			case "the server stands still":
				r.server.Resume(t)
			case "the server is killed":
				r.server.Restart(t)
			case "the network takes everything":
				r.link.Heal()
			default:
				r.do("SCRIPT", "KILL")
			}
			if took := r.eventually("be ready", func() bool { return r.health().Ready }); took > 2*time.Second {
				t.Errorf("ready %v after the fault, want 2s at most", took)
			}
		})
	}
}

// Calls that begin after the server is dead never allow, and those under way
// when it dies say no more than they know.
func TestAvailability_aKilledServerNeverAllows(t *testing.T) {
	r := newRig(t, redistest.Start(t))
	var dead atomic.Bool
	var callers sync.WaitGroup
	stop := make(chan struct{})
	for range 16 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				wasDead := dead.Load()
				got := say(r.evaluate("token-bucket", subject(), 1))
				if wasDead && got != "unavailable CONNECTION" && got != "indeterminate" {
					t.Errorf("a dead server: got %s", got)
				}
				if !strings.HasPrefix(got, "allowed") && got != "unavailable CONNECTION" && got != "indeterminate" {
					t.Errorf("got %s", got)
				}
			}
		})
	}
	r.server.Kill(t)
	dead.Store(true)
	for range 1000 {
		if o := r.evaluate("token-bucket", subject(), 1); o.Allows() {
			t.Fatalf("a dead server: got %s", say(o))
		}
	}
	close(stop)
	callers.Wait()
	r.server.Restart(t)
	r.eventually("recover", func() bool { return r.evaluate("token-bucket", subject(), 1).Allows() })
}

// Idle connections that the server closed are noticed before anything is
// written to them.
func TestAvailability_idleConnectionsThatWereClosedCostNoError(t *testing.T) {
	server := redistest.Start(t)
	r := newRig(t, server, func(c *redislimit.Config) { c.Redis.Addr = server.Addr() })
	who := subject()
	for n := range int64(30) {
		r.do("CLIENT", "KILL", "TYPE", "normal")
		r.expect("token-bucket", who, 1, allowed(policyLimit-1-n))
	}
}

func TestAvailability_killedConnectionsUnderLoadCostEachCallerAtMostOneErrorATime(t *testing.T) {
	server := redistest.Start(t)
	r := newRig(t, server, func(c *redislimit.Config) {
		c.Redis.Addr, c.Policies = server.Addr(), largePolicies(t)
		c.Redis.AdmissionWait, c.Redis.CommandTimeout, c.Redis.MaxInFlight = 2*time.Second, 2*time.Second, 32
		c.Redis.BreakerFailures = 1 << 30 // a burst of killed dials must not hide what follows
	})
	who := subject()
	var admitted, indeterminate, unconnected atomic.Int64
	var load sync.WaitGroup
	var done atomic.Bool
	const callers = 32
	for range callers {
		load.Go(func() {
			for range 120 {
				switch got := say(r.evaluate("fixed-window", who, 1)); {
				case strings.HasPrefix(got, "allowed"):
					admitted.Add(1)
				case got == "indeterminate":
					indeterminate.Add(1)
				case got == "unavailable CONNECTION":
					unconnected.Add(1)
				default:
					t.Errorf("got %s", got)
				}
			}
		})
	}
	go func() { load.Wait(); done.Store(true) }()
	var killed, times int64
	every := time.NewTicker(20 * time.Millisecond)
	defer every.Stop()
	for !done.Load() {
		killed += r.do("CLIENT", "KILL", "TYPE", "normal").(int64)
		times++
		<-every.C
	}
	charged := r.charged("fixed-window", who)
	if errors := indeterminate.Load() + unconnected.Load(); errors > callers*times {
		t.Errorf("%d errors of %d callers whose connections were killed %d times", errors, callers, times)
	}
	if charged < admitted.Load() || charged > admitted.Load()+indeterminate.Load() {
		t.Errorf("the server charged %d, want %d to %d", charged, admitted.Load(), admitted.Load()+indeterminate.Load())
	}
	t.Logf("%d admitted, %d indeterminate, %d unconnected, %d charged, %d connections killed", admitted.Load(), indeterminate.Load(), unconnected.Load(), charged, killed)
}
