package redislimit_test

import (
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// However many calls are lost together, they are one failure, and it counts.
func TestBreaker_aLostGroupIsOneFailure(t *testing.T) {
	t.Parallel()
	r := groupRig(t, redistest.Start(t), func(c *redislimit.Config) {
		c.Redis.CommandTimeout, c.Redis.BreakerFailures, c.Redis.BreakerProbeEvery = groupTimeout/2, 2, time.Hour
	})
	g := r.gather(
		questionOf("token-bucket-0"), questionOf("token-bucket-0"), questionOf("token-bucket-0"),
		questionOf("fixed-window-1"),
		questionOf("sliding-window-counter-0"), questionOf("sliding-window-counter-0"),
	)
	r.link.Fault("EVALSHA", 1, redistest.Silence())
	g.send()
	for i, a := range g.answers {
		if a.said != "indeterminate" {
			t.Errorf("caller %d: got %s, want indeterminate", i, a.said)
		}
	}
	r.expectBreaker("closed")
	r.link.Fault("EVALSHA", 1, redistest.Silence())
	r.expect("token-bucket-0", subject(), 1, "indeterminate")
	r.expectBreaker("open")
}

// Who has left tells the breaker nothing, so the first who stayed does.
func TestBreaker_aLostGroupCountsThoughItsFirstCallerLeft(t *testing.T) {
	t.Parallel()
	r := groupRig(t, redistest.Start(t), func(c *redislimit.Config) {
		c.Redis.CommandTimeout, c.Redis.BreakerFailures, c.Redis.BreakerProbeEvery = groupTimeout/2, 1, time.Hour
	})
	left := make(chan struct{})
	first := questionOf("token-bucket-0")
	first.leave = left
	g := r.gather(first, questionOf("token-bucket-0"), questionOf("fixed-window-1"))
	sent := r.link.Forwarded("EVALSHA")
	r.link.Fault("EVALSHA", 1, redistest.Silence())
	r.server.Resume(t)
	r.eventually("send the group", func() bool { return r.link.Forwarded("EVALSHA") > sent })
	close(left)
	g.wait()
	for i, a := range g.answers {
		if a.said != "indeterminate" {
			t.Errorf("caller %d: got %s, want indeterminate", i, a.said)
		}
	}
	r.expectBreaker("open")
}

// Of a group that breaks, what the server did not know is sent anew, and nothing else:
// who was answered keeps his answer, and who was not is in doubt.
func TestGroup_thatBreaksSendsAnewWhatTheServerDidNotKnow(t *testing.T) {
	t.Parallel()
	const answered = 4 // callers before the fault
	server := redistest.Start(t)
	for sentence, fault := range map[string]redistest.Fault{
		"the reply is lost": redistest.LoseReply(), "half the reply is lost": redistest.HalfReply(),
		"the server falls silent": redistest.Silence(), "the network swallows the rest": redistest.Swallow(),
	} {
		t.Run(sentence, func(t *testing.T) {
			r := groupRig(t, server, func(c *redislimit.Config) { c.Redis.CommandTimeout = groupTimeout / 2 })
			r.do("SCRIPT", "FLUSH")
			r.expect("fixed-window-0", subject(), 1, allowed(policyLimit-1)) // brings its program back
			questions := []question{
				questionOf("fixed-window-1"),
				questionOf("token-bucket-0"), questionOf("token-bucket-0"),
				questionOf("sliding-window-counter-0"),
				questionOf("fixed-window-2"), // here it breaks
				questionOf("token-bucket-1"), questionOf("token-bucket-1"),
			}
			g := r.gather(questions...)
			r.link.Fault("EVALSHA", 3, redistest.Pass())
			r.link.Fault("EVALSHA", 1, fault)
			g.send()
			for i, q := range questions {
				got, charged := g.answers[i].said, r.charged(q.policy, q.subject)
				if i < answered && (got != allowed(policyLimit-1) || charged != 1) {
					t.Errorf("%s, before the fault: got %s, charged %d", q.policy, got, charged)
				}
				if i >= answered && (got != "indeterminate" || charged > 1) {
					t.Errorf("%s, from the fault on: got %s, charged %d", q.policy, got, charged)
				}
			}
			r.link.Heal()
		})
	}
}
