package redislimit_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// question is one caller's evaluation. leave, if set, ends his patience.
type question struct {
	policy, subject string
	cost            int64
	leave           <-chan struct{}
}

func questionOf(policy string) question { return question{policy: policy, subject: subject(), cost: 1} }

// answer is what a caller of a group has heard, and when.
type answer struct {
	said string
	took time.Duration
}

// groupTimeout is long beside the time that it takes to bring a group together.
const groupTimeout = 4 * time.Second

// groupRig is a rig with places for a group beside the connections that stand still
// while it comes together, and with three policies of each algorithm: fixed-window-0
// and so on.
func groupRig(t *testing.T, server *redistest.Server, changes ...func(*redislimit.Config)) *rig {
	t.Helper()
	several := func(c *redislimit.Config) {
		c.Policies = nil
		for _, p := range policies(t) {
			for n := range 3 {
				c.Policies = append(c.Policies, policyOf(t, fmt.Sprintf("%s-%d", p.ID(), n), p.Algorithm()))
			}
		}
		c.Redis.MaxInFlight, c.Redis.AdmissionWait, c.Redis.CommandTimeout = 256, patience, groupTimeout
		c.Redis.BreakerFailures = 1 << 30
	}
	return newRig(t, server, append([]func(*redislimit.Config){several}, changes...)...)
}

// group is callers who wait in line together, while every connection stands still.
type group struct {
	rig      *rig
	callers  sync.WaitGroup
	occupied func()
	answers  []answer
}

// gather stops the server, has a call stand still on each connection, and lines up the
// questions in their order.
func (r *rig) gather(questions ...question) *group {
	r.t.Helper()
	g := &group{rig: r, answers: make([]answer, len(questions))}
	r.server.Pause(r.t)
	g.occupied = r.standStill(allowed(policyLimit - 1))
	for i, q := range questions {
		g.callers.Go(func() { g.answers[i] = r.ask(q) })
		r.eventually("stand in line", func() bool { return r.provider.Connection().Stats().Waiting == i+1 })
	}
	return g
}

// standStill has a call stand still on each connection of a server that is paused, and
// answers how to wait for them; each is to hear want.
func (r *rig) standStill(want string) (wait func()) {
	r.t.Helper()
	open, sent := r.provider.Connection().Stats().Open, r.link.Forwarded("EVALSHA")
	wait = r.occupy(open, func() { r.expect("fixed-window-0", subject(), 1, want) })
	r.eventually("send them", func() bool { return r.link.Forwarded("EVALSHA") == sent+int64(open) })
	return wait
}

// ask times one question.
func (r *rig) ask(q question) answer {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	if q.leave != nil {
		go func() {
			select {
			case <-q.leave:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	began := time.Now()
	o := r.provider.Evaluate(ctx, ratelimit.Request{PolicyID: q.policy, SubjectDigest: q.subject, Cost: q.cost})
	return answer{say(o), time.Since(began)}
}

// send lets the server go on, and with it the group, and waits for all.
func (g *group) send() {
	g.rig.server.Resume(g.rig.t)
	g.wait()
}

func (g *group) wait() {
	g.callers.Wait()
	g.occupied()
}
