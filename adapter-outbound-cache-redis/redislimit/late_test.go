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

// A connection whose handshake came too late carries no call: its greeting would be
// read as an answer.
func TestLate_aGreetingIsNobodysAnswer(t *testing.T) {
	server := redistest.Start(t)
	link := redistest.NewLink(t, server.Addr())
	const dial = 50 * time.Millisecond
	link.Fault("HELLO", -1, redistest.Delay(2*dial))
	r := newUnreadyRig(t, server, func(c *redislimit.Config) {
		c.Redis.Addr, c.Redis.DialTimeout, c.Redis.BreakerFailures = link.Addr(), dial, 1<<30
	})
	for dials := link.Dials() + 5; link.Dials() < dials; {
		r.expect("token-bucket", subject(), 1, "unavailable CONNECTION")
	}
	if got := link.Forwarded("EVALSHA"); got != 0 {
		t.Errorf("%d calls were sent on connections without a handshake", got)
	}
	link.Heal()
	r.eventually("serve", func() bool { return say(r.evaluate("token-bucket", subject(), 1)) == allowed(policyLimit-1) })
	for n, p := range r.config.Policies {
		r.expect(p.ID(), subject(), int64(n+1), allowed(policyLimit-1-int64(n)))
	}
}

// A server that stood still runs what reached it before, and nothing more: no caller
// was told that he was not charged, and nothing is sent again later.
func TestLate_chargesAreThoseThatWereInDoubt(t *testing.T) {
	const callers, each = 16, 25
	r := newRig(t, redistest.Start(t), func(c *redislimit.Config) {
		c.Policies = largePolicies(t)
		c.Redis.CommandTimeout, c.Redis.AdmissionWait = 60*time.Millisecond, 20*time.Millisecond
	})
	who := subject()
	var doubt, refused atomic.Int64
	r.server.Pause(t)
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range each {
				switch got := say(r.evaluate("fixed-window", who, 1)); {
				case got == "indeterminate":
					doubt.Add(1)
				case strings.HasPrefix(got, "unavailable "):
					refused.Add(1)
				default:
					t.Errorf("a server that stands still: got %s", got)
				}
			}
		})
	}
	all.Wait()
	r.server.Resume(t)
	var after, more int64
	r.eventually("serve", func() bool {
		switch got := say(r.evaluate("fixed-window", who, 1)); {
		case strings.HasPrefix(got, "allowed "):
			after++
		case got == "indeterminate":
			more++
		}
		return after == 20
	})
	if charged := r.charged("fixed-window", who); charged < after || charged > after+more+doubt.Load() {
		t.Errorf("the server charged %d: %d were allowed and %d in doubt", charged, after, doubt.Load()+more)
	}
	if doubt.Load() == 0 || refused.Load() < callers*each/2 {
		t.Errorf("%d in doubt and %d refused show nothing", doubt.Load(), refused.Load())
	}
}
