package redislimit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// Dials that break are followed by others until everybody in line has been told, though
// more wait than are dialled for at once.
func TestPool_dialsForEachOfALongLine(t *testing.T) {
	const callers = 40
	opened := make(chan struct{})
	r := newUnreadyRig(t, redistest.Start(t), func(c *redislimit.Config) {
		c.Redis.MaxInFlight, c.Redis.AdmissionWait, c.Redis.DialTimeout = callers, patience, patience
		c.Redis.BreakerFailures = 1 << 30
		c.Redis.Resolve = func(ctx context.Context) (string, error) {
			select {
			case <-opened:
			case <-ctx.Done():
			}
			return "", errors.New("nobody knows the address")
		}
	})
	answers := make(chan answer, callers)
	for range callers {
		go func() { answers <- r.ask(questionOf("token-bucket")) }()
	}
	r.eventually("stand in line for long", func() bool {
		stats := r.provider.Connection().Stats()
		return stats.Waiting == callers && stats.Dialing > 1
	})
	<-time.After(longWait) // by now each has been in line for long, and none asks again by itself
	began := time.Now()
	close(opened)
	for range callers {
		if a := <-answers; a.said != "unavailable CONNECTION" {
			t.Errorf("got %s, want unavailable CONNECTION", a.said)
		}
	}
	if took := time.Since(began); took > groupTimeout {
		t.Errorf("the last one was told %v after the dials broke", took)
	}
}

// longWait is long beside the time after which a call in line has another connection
// dialled.
const longWait = 200 * time.Millisecond

// While connections are open, a server that refuses others is asked for them by the
// look at it, and not by every call that has waited long.
func TestDoubt_aServerThatRefusesConnectionsIsNotDialledForTheLine(t *testing.T) {
	const callers, lookEvery = 40, 250 * time.Millisecond
	r := newRig(t, redistest.Start(t), func(c *redislimit.Config) {
		c.Redis.AdmissionWait, c.Redis.CommandTimeout = 30*time.Millisecond, groupTimeout
	})
	open := r.provider.Connection().Stats().Open
	r.link.Fault("EVALSHA", open, redistest.Delay(groupTimeout*3/4))
	wait := r.occupy(open, func() { r.expect("token-bucket", subject(), 1, allowed(policyLimit-1)) })
	r.link.Fault("HELLO", -1, redistest.Replace([]byte("-WRONGPASS invalid username-password pair\r\n")))
	began, before := time.Now(), r.link.Dials()
	for range callers {
		if a := r.ask(questionOf("token-bucket")); a.said == allowed(policyLimit-1) {
			t.Errorf("got %s of a server whose connections are all taken", a.said)
		}
	}
	looks := int64(time.Since(began)/lookEvery) + 1
	if got := r.link.Dials() - before; got > looks+callers/4 {
		t.Errorf("%d dials for %d callers, and %d looks", got, callers, looks)
	}
	r.link.Heal()
	wait()
}
