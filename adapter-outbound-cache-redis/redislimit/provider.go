package redislimit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/denial"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/key"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/secret"
)

// Config is what a Provider needs. Every field but DenialCache is required.
type Config struct {
	Redis     coordination.Config
	KeyPrefix string        // 1 to 32 characters of a-z 0-9 . _ -
	Secret    secret.Secret // physical keys are derived from it
	Policies  []ratelimit.Policy

	// DenialCache, if set, answers a question that was denied again without Redis, for
	// as long as Redis would surely deny it. The zero value asks Redis every time.
	DenialCache DenialCache
}

// DenialCache bounds the denials that a Provider keeps. Until MaxAge after a denial
// was asked for, what gives its subject back an allowance is not seen: a reset, a
// state that was lost, or a step of the server's clock.
type DenialCache struct {
	MaxEntries int           // 1 to 1,000,000; an entry takes about 400 bytes
	MaxAge     time.Duration // 1 ms to 10 s
}

// Provider is the EdgeRateLimitPort on Redis. It is safe for concurrent use.
type Provider struct {
	connection coordination.Endpoint
	dispatcher dispatcher
	plans      map[string]*plan
	denials    *denial.Cache // nil: none is kept
	closed     atomic.Bool
}

var _ ratelimit.EdgeRateLimitPort = (*Provider)(nil)

// dispatcher carries one call to Redis, at most once, and says how far it got.
type dispatcher interface {
	Dispatch(ctx context.Context, call coordination.Call) certainty.Result
}

// plan is all of a policy's evaluation that the policy fixes.
type plan struct {
	policy  ratelimit.Policy
	program program.Program
	keys    key.Series
	args    [cheapest + 1][]string // by cost; [0] lacks the cost
	batch   *coordination.Batch
}

// cheapest are the costs from 1 whose arguments are made once.
const cheapest = 8

// Open makes a Provider and starts its connection. It returns an error for a
// config that cannot work, never because Redis is away: then evaluations are
// Unavailable until it comes. Close it when done.
func Open(c Config) (*Provider, error) {
	keys, err := key.NewBuilder(c.KeyPrefix, c.Secret)
	if err != nil {
		return nil, fmt.Errorf("redislimit: %w", err)
	}
	plans, err := plansFor(c.Policies, keys)
	if err != nil {
		return nil, fmt.Errorf("redislimit: %w", err)
	}
	var denials *denial.Cache
	if c.DenialCache != (DenialCache{}) {
		if denials, err = denial.New(c.DenialCache.MaxEntries, c.DenialCache.MaxAge, nil); err != nil {
			return nil, fmt.Errorf("redislimit: %w", err)
		}
	}
	connection, err := coordination.Connect(c.Redis, newProbe(keys).at)
	if err != nil {
		return nil, fmt.Errorf("redislimit: %w", err)
	}
	return &Provider{connection: connection, dispatcher: connection, plans: plans, denials: denials}, nil
}

func plansFor(policies []ratelimit.Policy, keys key.Builder) (map[string]*plan, error) {
	plans := make(map[string]*plan, len(policies))
	var errs []error
	for i, p := range policies {
		if p.IsZero() {
			errs = append(errs, fmt.Errorf("policy %d is the zero Policy", i))
			continue
		}
		if _, twice := plans[p.ID()]; twice {
			errs = append(errs, fmt.Errorf("policy id %q is given twice", p.ID()))
		}
		plans[p.ID()] = &plan{
			policy:  p,
			program: program.For(p.Algorithm()),
			keys: keys.Series("rate", p.ID(), "state",
				p.ID(), strconv.FormatInt(p.Revision(), 10), string(p.Algorithm().Name())),
			args:  argsOf(p),
			batch: batchOf(p),
		}
	}
	if len(policies) == 0 {
		errs = append(errs, errors.New("at least one policy is needed"))
	}
	return plans, errors.Join(errs...)
}

// Evaluate implements [ratelimit.EdgeRateLimitPort]. It waits for a place in
// flight at most the admission wait, and for a reply at most the command timeout.
func (p *Provider) Evaluate(ctx context.Context, req ratelimit.Request) ratelimit.Outcome {
	plan, known := p.plans[req.PolicyID]
	if !known || req.Check(plan.policy) != nil {
		return ratelimit.Incompatible{PolicyID: nameOf(req), Category: ratelimit.IncompatibleRequest}.Outcome()
	}
	if p.denials == nil {
		return certainty.Outcome(plan.policy, p.dispatcher.Dispatch(ctx, plan.call(req)))
	}
	return p.evaluateRemembering(ctx, plan, req)
}

// evaluateRemembering answers by a denial that is known and exact, or else asks Redis
// and keeps what it denies. Who may not ask gets no answer from memory either.
func (p *Provider) evaluateRemembering(ctx context.Context, plan *plan, req ratelimit.Request) ratelimit.Outcome {
	question := denial.Key{
		PolicyID: plan.policy.ID(), Revision: plan.policy.Revision(), SubjectDigest: req.SubjectDigest, Cost: req.Cost,
	}
	if _, finite := ctx.Deadline(); finite && ctx.Err() == nil && !p.closed.Load() {
		if d, known := p.denials.Lookup(question); known {
			return ratelimit.Evaluated{Decision: d}.Outcome()
		}
	}
	sent := p.denials.Now()
	result := p.dispatcher.Dispatch(ctx, plan.call(req))
	received := p.denials.Now()
	outcome, exact := certainty.Read(plan.policy, result)
	if exact {
		p.denials.Store(question, decisionIn(outcome), sent, received)
	}
	return outcome
}

// decisionIn is the decision of an outcome, if it has one.
func decisionIn(o ratelimit.Outcome) ratelimit.Decision {
	return ratelimit.Match(o, func(e ratelimit.Evaluated) ratelimit.Decision { return e.Decision },
		func(ratelimit.Unavailable) ratelimit.Decision { return ratelimit.Decision{} },
		func(ratelimit.Indeterminate) ratelimit.Decision { return ratelimit.Decision{} },
		func(ratelimit.Incompatible) ratelimit.Decision { return ratelimit.Decision{} })
}

// nameOf is the policy id that req gives, if it has the form of one.
func nameOf(req ratelimit.Request) string {
	if !ratelimit.ValidPolicyID(req.PolicyID) {
		return ""
	}
	return req.PolicyID
}

// batchOf is how evaluations under p run together; nil if they do not. On Redis 7.0
// the life of a key can end amid a program, whose clock stands still: what a state
// lives on after its window must be far longer than a batch takes.
func batchOf(p ratelimit.Policy) *coordination.Batch {
	if p.CleanupGrace() < time.Second {
		return nil
	}
	return &coordination.Batch{Program: program.RateBatch, Shared: program.PolicyArgs(p)}
}

// argsOf are the arguments of an evaluation under p, by its cost.
func argsOf(p ratelimit.Policy) (args [cheapest + 1][]string) {
	args[0] = program.PolicyArgs(p)
	for cost := 1; cost <= cheapest; cost++ {
		args[cost] = append(slices.Clone(args[0]), strconv.Itoa(cost))
	}
	return args
}

// call is the one run of a program that an evaluation is.
func (p *plan) call(req ratelimit.Request) coordination.Call {
	var args []string
	if req.Cost <= cheapest {
		args = p.args[req.Cost]
	} else {
		args = append(slices.Clone(p.args[0]), strconv.FormatInt(req.Cost, 10))
	}
	return coordination.Call{Program: p.program, Keys: [2]string{p.keys.Key(req.SubjectDigest)}, Args: args, Batch: p.batch}
}

// Budget is the wait for a place and one command. A deadline of that and a little
// more suits a caller; one that leaves less than the command timeout is refused as
// DEADLINE, and one that leaves two lets the source follow a NOSCRIPT.
func (p *Provider) Budget() time.Duration { return p.connection.Budget() }

// Connection is the provider's connection, to a server or a cluster, for health and
// figures.
func (p *Provider) Connection() coordination.Endpoint { return p.connection }

// Close ends the connection; evaluations in flight run to their end, later ones
// are Unavailable. It may be called more than once.
func (p *Provider) Close() error {
	p.closed.Store(true)
	return p.connection.Close()
}
