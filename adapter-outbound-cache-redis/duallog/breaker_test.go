package duallog_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/duallog"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// without a probe within the test, an open breaker stays open.
func withoutProbe(c *duallog.Config) { c.Redis.BreakerProbeEvery = time.Hour }

// A call whose reply was lost counts, whatever the cause; once open, no call is
// sent, none is charged and nobody dials.
func TestBreaker_opensAfterFiveThatAreUnknownAndThenSendsNothing(t *testing.T) {
	r := newRig(t, redistest.Start(t), withoutProbe)
	who := newSubject()
	r.link.Fault("EVALSHA", -1, redistest.LoseReply())
	for n := range 5 {
		r.expectBreaker("closed")
		r.expect(forms[n%2], who, "unknown")
	}
	r.expectBreaker("open")
	sent, dials := r.link.Forwarded("EVALSHA"), r.link.Dials()
	for n := range 1000 {
		r.expect(forms[n%2], who, "unavailable")
	}
	if got := r.link.Forwarded("EVALSHA") - sent; got != 0 {
		t.Errorf("%d calls were sent through an open breaker", got)
	}
	if got := r.link.Dials() - dials; got != 0 {
		t.Errorf("%d dials behind an open breaker", got)
	}
	r.expectCharged(who, 5, 2)
}

func TestBreaker_opensAfterFiveThatCouldNotBeSentAndThenDialsNoMore(t *testing.T) {
	r := newRig(t, redistest.Start(t), withoutProbe)
	r.server.Kill(t) // the link resets each dial from now on
	r.link.Cut()
	for n := 0; r.limiter.Connection().Breaker() == "closed"; n++ {
		if n == 5 {
			t.Fatal("five calls of a dead server leave the breaker closed")
		}
		r.expect(forms[n%2], newSubject(), "unavailable")
	}
	began, dials := time.Now(), r.link.Dials()
	for n := range 1000 {
		r.expect(forms[n%2], newSubject(), "unavailable")
	}
	// The watch over health goes on, at most eight times a second.
	if got, most := r.link.Dials()-dials, 2+8*int64(time.Since(began)/time.Second+1); got > most {
		t.Errorf("1000 refused calls dialled %d times, want at most %d", got, most)
	}
}

func TestBreaker_countsUnknownAndUnavailableTogether(t *testing.T) {
	r := newRig(t, redistest.Start(t), withoutProbe)
	r.link.Fault("EVALSHA", 3, redistest.LoseReply())
	for range 3 {
		r.expect(dual, newSubject(), "unknown")
	}
	r.do("CONFIG", "SET", "maxmemory", "1")
	r.expect(dual, newSubject(), "unavailable")
	r.expectBreaker("closed")
	r.expect(dual, newSubject(), "unavailable")
	r.expectBreaker("open")
}

func TestBreaker_answersBetweenFailuresKeepItClosed(t *testing.T) {
	r := newRig(t, redistest.Start(t), failures(2), withoutProbe)
	who := newSubject()
	for n := range 5 {
		r.link.Fault("EVALSHA", 1, redistest.ResetAfter())
		r.expect(dual, who, "unknown")
		r.expect(dual, who, allowed(dual, 2*n+2, 2*n+2))
	}
	r.expectBreaker("closed")
}

// What was answered is no failure to reach the server: a denial, a clock that is
// not safe, a key that is something else, and a call that is refused by itself.
func TestBreaker_answersNeverOpenIt(t *testing.T) {
	r := newRig(t, redistest.Start(t), failures(1), withoutProbe)
	who, ahead, other := newSubject(), newSubject(), newSubject()
	r.do("ZADD", ahead.tenant, "9007199254740991", "ahead")
	r.do("SET", other.tenant, "1")
	for range 20 {
		if v, err := r.limiter.AllowContext(t.Context(), who.tenant, 0); v.Allowed || err != nil {
			t.Errorf("limit 0: got %+v, %v", v, err)
		}
		r.expect(dual, ahead, "clock unsafe")
		r.expect(dual, other, "incompatible")
		if _, err := r.limiter.AllowContext(t.Context(), "", 1); err == nil {
			t.Error("an empty key is accepted")
		}
	}
	r.expectBreaker("closed")
}

func TestBreaker_callersWhoLeaveNeverOpenIt(t *testing.T) {
	r := newRig(t, redistest.Start(t), failures(1), withoutProbe)
	for range 10 {
		for _, f := range forms {
			sent := r.link.Forwarded("EVALSHA")
			r.link.Fault("EVALSHA", 1, redistest.Delay(20*time.Millisecond))
			ctx, leave := context.WithCancel(t.Context())
			go func() {
				r.eventually("send", func() bool { return r.link.Forwarded("EVALSHA") > sent })
				leave()
			}()
			if got := r.say(ctx, f, newSubject()); got != "unknown" && !strings.HasPrefix(got, "allowed") {
				t.Errorf("a caller who leaves: got %s", got)
			}
		}
	}
	r.expectBreaker("closed")
}

func TestBreaker_closesByItselfOnceTheServerIsBack(t *testing.T) {
	r := newRig(t, redistest.Start(t))
	for range 2 {
		r.server.Kill(t)
		r.link.Cut()
		r.eventually("open", func() bool {
			r.expect(dual, newSubject(), "unavailable")
			return r.limiter.Connection().Breaker() == "open"
		})
		r.eventually("say so", func() bool { return !r.health().Ready })
		r.server.Restart(t)
		r.eventually("serve", func() bool { return r.ask(dual, newSubject()) == allowed(dual, 1, 1) })
		r.expectBreaker("closed")
		r.eventually("be ready", func() bool { return r.health().Ready })
	}
}
