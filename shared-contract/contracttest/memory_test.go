package contracttest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/contracttest"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// clock is moved by hand. It may also run, a little at each look.
type clock struct {
	mu     sync.Mutex
	millis int64
	tick   int64 // how far each look moves it
}

func (c *clock) now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.millis += c.tick
	return c.millis
}

func (c *clock) advance(_ *testing.T, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.millis += d.Milliseconds()
}

// store is a server of the model: it keeps state and counts what it charged.
type store struct {
	clock *clock
	mu    sync.Mutex
	keys  map[storeKey]model.State
	spent map[storeKey]int64
}

type storeKey struct {
	policyID string
	revision int64
	subject  string
}

func newStore(c *clock) *store {
	return &store{clock: c, keys: map[storeKey]model.State{}, spent: map[storeKey]int64{}}
}

func (s *store) step(p ratelimit.Policy, req ratelimit.Request) model.Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := storeKey{p.ID(), p.Revision(), req.SubjectDigest}
	reply, next, _ := model.New(p).Step(s.keys[key], s.clock.now(), req.Cost)
	s.keys[key] = next
	if reply.Status == model.Allowed {
		s.spent[key] += req.Cost
	}
	return reply
}

func (s *store) charged(policyID, subject string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sum int64
	for key, spent := range s.spent {
		if key.policyID == policyID && key.subject == subject {
			sum += spent
		}
	}
	return sum
}

// memoryPort is a faithful port over a store.
type memoryPort struct {
	store    *store
	policies map[string]ratelimit.Policy
}

func newMemoryPort(s *store, policies []ratelimit.Policy) memoryPort {
	port := memoryPort{store: s, policies: map[string]ratelimit.Policy{}}
	for _, p := range policies {
		port.policies[p.ID()] = p
	}
	return port
}

// refusal is the outcome of what is not asked of the server at all.
func (m memoryPort) refusal(ctx context.Context, req ratelimit.Request) (ratelimit.Outcome, bool) {
	if p, known := m.policies[req.PolicyID]; !known || req.Check(p) != nil {
		return ratelimit.Incompatible{PolicyID: req.PolicyID, Category: ratelimit.IncompatibleRequest}.Outcome(), true
	}
	if _, finite := ctx.Deadline(); !finite || ctx.Err() != nil {
		return ratelimit.Unavailable{PolicyID: req.PolicyID, Category: ratelimit.UnavailableDeadline}.Outcome(), true
	}
	return ratelimit.Outcome{}, false
}

func (m memoryPort) Evaluate(ctx context.Context, req ratelimit.Request) ratelimit.Outcome {
	if refusal, refused := m.refusal(ctx, req); refused {
		return refusal
	}
	p := m.policies[req.PolicyID]
	return ratelimit.Evaluated{Decision: decisionOf(p, m.store.step(p, req))}.Outcome()
}

func decisionOf(p ratelimit.Policy, reply model.Reply) ratelimit.Decision {
	return ratelimit.Decision{
		Allowed: reply.Status == model.Allowed, Limit: reply.Limit, Remaining: reply.Remaining,
		RetryAfter:       ratelimit.Span(reply.RetryAfterMillis),
		ObservedAtMillis: reply.ServerNowMillis, ResetAtMillis: reply.ResetAtMillis,
		PolicyID: p.ID(), PolicyRevision: p.Revision(), Source: ratelimit.GlobalRedis, Certainty: p.Certainty(),
	}
}

const startMillis = 1_700_000_000_123

func TestRun_aFaithfulPortPasses(t *testing.T) {
	t.Run("by a clock that is moved by hand", func(t *testing.T) {
		c := &clock{millis: startMillis}
		s := newStore(c)
		contracttest.Run(t, contracttest.Harness{
			New: func(_ *testing.T, policies ...ratelimit.Policy) ratelimit.EdgeRateLimitPort {
				return newMemoryPort(s, policies)
			},
			Advance: c.advance,
		})
	})
	t.Run("by a clock that runs", func(t *testing.T) {
		s := newStore(&clock{millis: startMillis, tick: 1})
		contracttest.Run(t, contracttest.Harness{
			New: func(_ *testing.T, policies ...ratelimit.Policy) ratelimit.EdgeRateLimitPort {
				return newMemoryPort(s, policies)
			},
		})
	})
	t.Run("by a clock by which a window ends during each first try", func(t *testing.T) {
		const windowMillis = int64(6 * time.Hour / time.Millisecond)
		c := &clock{millis: startMillis, tick: 1}
		s := newStore(c)
		tried := map[string]bool{}
		contracttest.Run(t, contracttest.Harness{
			New: func(t *testing.T, policies ...ratelimit.Policy) ratelimit.EdgeRateLimitPort {
				if !tried[t.Name()] {
					tried[t.Name()] = true
					left := windowMillis - c.now()%windowMillis
					c.advance(t, time.Duration(left+windowMillis-2)*time.Millisecond)
				}
				return newMemoryPort(s, policies)
			},
		})
	})
}
