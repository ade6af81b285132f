package duallog_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/duallog"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

func TestCaller_whoHasGoneBeforeIsRefusedAndNothingIsSent(t *testing.T) {
	r := newRig(t, redistest.Start(t), failures(1))
	gone, leave := context.WithCancel(t.Context())
	leave()
	late, cancel := context.WithTimeout(t.Context(), -time.Second)
	defer cancel()
	for sentence, ctx := range map[string]context.Context{"cancelled": gone, "its deadline has passed": late} {
		for _, f := range forms {
			sent, who := r.link.Forwarded("EVALSHA"), newSubject()
			v, err := f.call(ctx, r, who)
			if got := say(v, err); got != "unavailable" || !errors.Is(err, ctx.Err()) {
				t.Errorf("%s, %s call: got %s (%v), want unavailable with the ctx's own error", sentence, f, got, err)
			}
			if got := r.link.Forwarded("EVALSHA") - sent; got != 0 {
				t.Errorf("%s, %s call: sent %d times, want 0", sentence, f, got)
			}
			r.expectCharged(who, 0, 0)
		}
	}
	r.expectBreaker("closed")
}

func TestCaller_needsNoDeadlineAndTheTimeoutIsOfTheWholeCall(t *testing.T) {
	r := newRig(t, redistest.Start(t), timeout(shortTimeout))
	who := newSubject()
	for n, plain := range []func() (bool, error){
		func() (bool, error) { ok, _, err := r.limiter.Allow(who.tenant, tenantLimit); return ok, err },
		func() (bool, error) {
			ok, _, _, err := r.limiter.Dual().AllowDual(who.tenant, tenantLimit, who.user, userLimit)
			return ok, err
		},
	} {
		if ok, err := plain(); !ok || err != nil {
			t.Errorf("call %d: got %t, %v", n, ok, err)
		}
		r.link.Fault("EVALSHA", 1, redistest.Silence())
		if ok, err := plain(); ok || !errors.Is(err, slidinglog.ErrUnknown) {
			t.Errorf("call %d of a mute server: got %t, %v, want ErrUnknown", n, ok, err)
		}
	}
	r.expectCharged(who, 4, 2)
}

func TestCaller_mayShortenTheCall(t *testing.T) {
	r := newRig(t, redistest.Start(t), timeout(time.Minute), failures(1))
	for _, f := range forms {
		r.link.Fault("EVALSHA", 1, redistest.Silence())
		ctx, cancel := context.WithTimeout(t.Context(), shortTimeout)
		defer cancel()
		who := newSubject()
		v, err := f.call(ctx, r, who)
		if got := say(v, err); got != "unknown" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s call: got %s (%v), want unknown with the ctx's own error", f, got, err)
		}
		if got := cardinality(t, r.server, who.tenant); got != 1 {
			t.Errorf("%s call: charged %d times, want once", f, got)
		}
	}
	r.expectBreaker("closed")
	r.link.Cut() // else the mute connections keep the test for their minute
}

func TestCaller_whoLeavesAfterDispatchIsUnknownAndHisReplyIsDropped(t *testing.T) {
	r := newRig(t, redistest.Start(t), failures(1), func(c *duallog.Config) { c.Redis.MaxInFlight = 1 })
	who := newSubject()
	for n := range 3 {
		for _, f := range forms {
			r.link.Fault("EVALSHA", 1, redistest.Delay(150*time.Millisecond))
			ctx, leave := context.WithCancel(t.Context())
			sent := r.link.Forwarded("EVALSHA")
			go func() {
				r.eventually("send", func() bool { return r.link.Forwarded("EVALSHA") > sent })
				leave()
			}()
			v, err := f.call(ctx, r, who)
			if got := say(v, err); got != "unknown" || !errors.Is(err, context.Canceled) {
				t.Errorf("%s call: got %s (%v), want unknown with the ctx's own error", f, got, err)
			}
			// On the one connection the dropped reply comes first.
			if other := newSubject(); r.ask(f, other) != allowed(f, 1, 1) {
				t.Errorf("%s call %d: another's answer is not his own", f, n)
			}
		}
		r.expectCharged(who, 2*(n+1), n+1)
	}
	if got := r.link.Dials(); got != 2 {
		t.Errorf("%d dials, want 2: the connection serves on, and one watches health", got)
	}
	r.expectBreaker("closed")
}

// Who leaves while he waits for a place in flight says nothing of the server.
func TestCaller_whoLeavesTheLineIsNotChargedAndOpensNoBreaker(t *testing.T) {
	r := newRig(t, redistest.Start(t), failures(1), timeout(time.Minute), func(c *duallog.Config) { c.Redis.MaxInFlight = 1 })
	sent := r.link.Forwarded("EVALSHA")
	r.link.Fault("EVALSHA", 1, redistest.Silence())
	var slow sync.WaitGroup
	slow.Go(func() { r.expect(dual, newSubject(), "unknown") })
	r.eventually("be busy", func() bool { return r.link.Forwarded("EVALSHA") > sent })
	for _, f := range forms {
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			r.eventually("stand in line", func() bool { return r.limiter.Connection().Stats().Waiting > 0 })
			leave()
		}()
		who := newSubject()
		v, err := f.call(ctx, r, who)
		if got := say(v, err); got != "unavailable" || !errors.Is(err, context.Canceled) {
			t.Errorf("%s call: got %s (%v), want unavailable with the ctx's own error", f, got, err)
		}
		r.expectCharged(who, 0, 0)
		r.expectBreaker("closed")
	}
	r.link.Cut()
	slow.Wait()
}

// A crowd that one connection cannot serve in time is refused, and charged no more
// than it was told.
func TestCaller_inACrowdIsUnavailableAndNotCharged(t *testing.T) {
	r := newRig(t, redistest.Start(t), timeout(shortTimeout), failures(never), func(c *duallog.Config) { c.Redis.MaxInFlight = 1 })
	r.link.Fault("EVALSHA", -1, redistest.Delay(shortTimeout/4))
	who, answers := newSubject(), make(chan string)
	const crowd = 40
	for range crowd {
		go func() { answers <- say(dual.call(context.Background(), r, who)) }()
	}
	counts := map[string]int{}
	for range crowd {
		switch got := <-answers; got {
		case "unavailable", "unknown":
			counts[got]++
		default:
			counts["allowed"]++
		}
	}
	t.Log(counts)
	if counts["unavailable"] == 0 {
		t.Errorf("answers %v, want some unavailable", counts)
	}
	held := cardinality(t, r.server, who.tenant)
	if held < counts["allowed"] || held > counts["allowed"]+counts["unknown"] {
		t.Errorf("the server charged %d, want %d to %d", held, counts["allowed"], counts["allowed"]+counts["unknown"])
	}
	r.expectCharged(who, held, held)
}

func TestCaller_withABadCallIsRefusedAndNothingIsSent(t *testing.T) {
	r := newRig(t, redistest.Start(t))
	sent, who := r.link.Forwarded("EVALSHA"), newSubject()
	ctx := t.Context()
	for sentence, call := range map[string]func() (slidinglog.Verdict, error){
		"a limit above the most": func() (slidinglog.Verdict, error) {
			return r.limiter.AllowContext(ctx, who.tenant, duallog.MaxLimit+1)
		},
		"a tenant's limit above the most": func() (slidinglog.Verdict, error) {
			return r.limiter.Dual().AllowDualContext(ctx, who.tenant, duallog.MaxLimit+1, who.user, 5)
		},
		"a user's limit above the most": func() (slidinglog.Verdict, error) {
			return r.limiter.Dual().AllowDualContext(ctx, who.tenant, 5, who.user, duallog.MaxLimit+1)
		},
		"a negative limit": func() (slidinglog.Verdict, error) { return r.limiter.AllowContext(ctx, who.tenant, -1) },
		"equal keys": func() (slidinglog.Verdict, error) {
			return r.limiter.Dual().AllowDualContext(ctx, who.tenant, 5, who.tenant, 5)
		},
		"keys of two tenants": func() (slidinglog.Verdict, error) {
			return r.limiter.Dual().AllowDualContext(ctx, who.tenant, 5, newSubject().user, 5)
		},
	} {
		if got := say(call()); got != "invalid" {
			t.Errorf("%s: got %s, want invalid", sentence, got)
		}
	}
	if got := r.link.Forwarded("EVALSHA") - sent; got != 0 {
		t.Errorf("%d calls were sent, want 0", got)
	}
	if v, err := r.limiter.Dual().AllowDualContext(ctx, who.tenant, duallog.MaxLimit, who.user, duallog.MaxLimit); !v.Allowed || err != nil {
		t.Errorf("the largest limits: got %+v, %v", v, err)
	}
}

func TestOpen_refusesAWindowThatIsNone(t *testing.T) {
	for window, ok := range map[time.Duration]bool{
		0: false, -time.Second: false, time.Microsecond - 1: false, time.Microsecond: true, time.Microsecond + 1: false,
		366 * 24 * time.Hour: true, 366*24*time.Hour + time.Microsecond: false,
	} {
		limiter, err := duallog.Open(configFor("127.0.0.1:1", window))
		if (err == nil) != ok {
			t.Errorf("a window of %v: got %v, want accepted %t", window, err, ok)
		}
		if err == nil {
			_ = limiter.Close()
		}
	}
	if _, err := duallog.Open(configFor("", time.Second)); err == nil {
		t.Error("a config without an address is accepted")
	}
}
