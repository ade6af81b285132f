package redislimit_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// atOnce bounds the time that a caller takes to leave while nothing is answered.
const atOnce = groupTimeout / 4

// leaver is a question and the way to end its caller's patience.
func leaver(policy string) (question, func()) {
	gone := make(chan struct{})
	q := questionOf(policy)
	q.leave = gone
	return q, func() { close(gone) }
}

// Who leaves the line is gone at once and was never sent.
func TestGroup_whoLeavesTheLineIsNotSent(t *testing.T) {
	r := groupRig(t, redistest.Start(t))
	first, leaveFirst := leaver("token-bucket-0")
	middle, leaveMiddle := leaver("token-bucket-1")
	last, leaveLast := leaver("token-bucket-0")
	stays, other := questionOf("token-bucket-0"), questionOf("fixed-window-0")
	g := r.gather(first, stays, middle, other, last)
	for n, leave := range []func(){leaveMiddle, leaveFirst, leaveLast} {
		leave()
		took := r.eventually("leave the line", func() bool { return r.provider.Connection().Stats().Waiting == 4-n })
		if took > atOnce {
			t.Errorf("the caller took %v to leave the line", took)
		}
	}
	before := r.link.Forwarded("EVALSHA")
	g.send()
	if sent := r.link.Forwarded("EVALSHA") - before; sent != 2 {
		t.Errorf("%d commands, want those of the two who stayed", sent)
	}
	for i, q := range []question{first, stays, middle, other, last} {
		got, stayed := g.answers[i].said, q.leave == nil
		if stayed && got != allowed(policyLimit-1) || !stayed && !strings.HasPrefix(got, "unavailable ") {
			t.Errorf("caller %d, who stayed %t, got %s", i, stayed, got)
		}
		r.expectCharged(q.policy, q.subject, map[bool]int64{true: 1, false: 0}[stayed])
	}
	r.expectBreaker("closed")
}

// Who leaves after his command was sent is gone at once, with the doubt that he has of
// it; the others of his batch and his group are answered as if he had stayed.
func TestGroup_whoLeavesWhatWasSentIsInDoubtAlone(t *testing.T) {
	t.Parallel()
	r := groupRig(t, redistest.Start(t))
	batched, leaveBatch := leaver("token-bucket-0")
	single, leaveSingle := leaver("sliding-window-counter-0")
	questions := []question{questionOf("token-bucket-0"), batched, single, questionOf("token-bucket-0"), questionOf("fixed-window-0")}
	g := r.gather(questions...)
	const slow = groupTimeout / 2
	r.link.Fault("EVALSHA", -1, redistest.Delay(slow))
	before := r.link.Forwarded("EVALSHA")
	r.server.Resume(t)
	r.eventually("be sent", func() bool { return r.link.Forwarded("EVALSHA")-before == 3 })
	leaveBatch()
	leaveSingle()
	g.wait()
	for i, q := range questions {
		want := map[bool]string{true: allowed(policyLimit - 1), false: "indeterminate"}[q.leave == nil]
		if got := g.answers[i].said; got != want {
			t.Errorf("caller %d: got %s, want %s", i, got, want)
		}
		r.expectCharged(q.policy, q.subject, 1)
	}
	for _, i := range []int{1, 2} {
		if before := g.answers[0].took - g.answers[i].took; before < slow/2 {
			t.Errorf("caller %d left only %v before those who stayed", i, before)
		}
	}
	r.expectBreaker("closed")
}

// A caller alone who leaves while the server stands still is gone at once. His reply is
// dropped, the connection serves on, and the next caller gets his own answer.
func TestGroup_aloneWhoLeavesCostsNoConnection(t *testing.T) {
	a := newAuthority(t)
	server, addr := a.start("redis.test")
	settings := &tls.Config{RootCAs: a.roots, ServerName: "redis.test"}
	for _, protocol := range []int{2, 3} {
		for transport, encrypted := range map[string]*tls.Config{"TCP": nil, "TLS": settings} {
			t.Run(fmt.Sprintf("RESP%d over %s", protocol, transport), func(t *testing.T) {
				r := newRig(t, server, func(c *redislimit.Config) {
					c.Redis.Protocol, c.Redis.MaxInFlight, c.Redis.CommandTimeout = protocol, 1, groupTimeout
					if encrypted != nil {
						c.Redis.Addr, c.Redis.TLS = addr, encrypted
					}
				})
				who, before, charged := subject(), r.dialled(), int64(0)
				for n := range int64(5) {
					charged += r.leaveAlone(who)
					r.expect("token-bucket", who, 1, allowed(policyLimit-1-n-charged))
				}
				if charged == 0 {
					t.Error("nobody left after his command was sent")
				}
				if got := r.dialled() - before; got != 1 { // the look itself
					t.Errorf("%d connections were opened for callers who left, want 0", got-1)
				}
				r.expectBreaker("closed")
			})
		}
	}
}

// dialled is how many connections the server has accepted.
func (r *rig) dialled() (n int64) {
	r.t.Helper()
	for line := range strings.Lines(fmt.Sprint(r.do("INFO", "stats"))) {
		if _, err := fmt.Sscanf(line, "total_connections_received:%d", &n); err == nil {
			return n
		}
	}
	r.t.Fatal("the server does not tell what it has accepted")
	return 0
}

// leaveAlone evaluates against a server that stands still, and leaves. It answers what
// that may cost: nothing if he left in the moment before his command was sent.
func (r *rig) leaveAlone(who string) (charged int64) {
	r.t.Helper()
	r.server.Pause(r.t)
	ctx, leave := context.WithTimeout(context.Background(), callerDeadline)
	defer leave()
	said := make(chan string, 1)
	go func() { said <- say(r.evaluateIn(ctx, "token-bucket", who, 1)) }()
	r.eventually("hold a connection", func() bool { return r.provider.Connection().Stats().InFlight == 1 })
	leave()
	if took := r.eventually("leave", func() bool { return len(said) == 1 }); took > atOnce {
		r.t.Errorf("the caller took %v to leave", took)
	}
	r.server.Resume(r.t)
	switch got := <-said; got {
	case "indeterminate":
		return 1
	case "unavailable DEADLINE":
		return 0
	default:
		r.t.Errorf("who left alone got %s", got)
		return 0
	}
}
