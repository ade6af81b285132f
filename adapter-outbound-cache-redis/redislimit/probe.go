package redislimit

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/executor"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/key"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// probe checks that the server lets its user run every command that the
// programs use, then each program, on keys of its own that live a second.
type probe struct {
	keys     key.Builder
	policies []ratelimit.Policy
	tag      string // a word that decides the slot of the keys on a cluster; "" elsewhere
}

const probeLife = time.Second

func newProbe(keys key.Builder) probe {
	p := probe{keys: keys}
	for _, algorithm := range []ratelimit.Algorithm{
		ratelimit.FixedWindow{Limit: 1, Window: probeLife},
		ratelimit.SlidingWindowCounter{Limit: 1, Window: probeLife / 2},
		ratelimit.TokenBucket{Capacity: 1, RefillTokens: 1, RefillPeriod: probeLife},
	} {
		policy, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
			ID: "probe", Revision: 1, Algorithm: algorithm, MaxCost: 1, FailureMode: ratelimit.FailClosed,
		})
		if err != nil {
			panic(err) // the parameters above are constants
		}
		p.policies = append(p.policies, policy)
	}
	return p
}

// ProbeKey implements [coordination.Verifier].
func (p probe) ProbeKey() string { return p.key("commands", "look") }

// at is p with the slot of tag on a cluster.
func (p probe) at(tag string) coordination.Verifier {
	p.tag = tag
	return p
}

func (p probe) key(region, last string) string {
	if p.tag != "" {
		region += "{" + p.tag + "}"
	}
	return p.keys.Series("rate", region, "probe").Key(last)
}

// Verify implements [coordination.Verifier]. Each right but HSET is asked for by
// itself before a program runs, so that a right that is missing after a program's
// first write is named here and leaves no key without a lifetime.
func (p probe) Verify(ctx context.Context, s coordination.Sender) error {
	nonce := rand.Text()
	probed := p.key("commands", nonce)
	for _, command := range [][]any{
		{"TIME"},
		{"TYPE", probed},
		{"HGETALL", probed},
		{"PEXPIRE", probed, probeLife.Milliseconds()},
	} {
		if err := p.may(ctx, s, command); err != nil {
			return err
		}
	}
	for _, policy := range p.policies {
		chosen := program.For(policy.Algorithm())
		if err := p.run(ctx, s, policy, chosen, p.key(string(policy.Algorithm().Name()), nonce)); err != nil {
			return err
		}
	}
	if p.tag != "" { // a cluster's calls run one by one
		return nil
	}
	return p.run(ctx, s, p.policies[0], program.RateBatch, p.key("batch", nonce))
}

// may sends one command of a program by itself.
func (p probe) may(ctx context.Context, s coordination.Sender, command []any) error {
	raw, err := s.Send(ctx, command)
	if err != nil {
		return err
	}
	return p.refused(fmt.Sprint(command[0]), raw)
}

// decisionOf is the one decision in a raw reply of a program.
func decisionOf(chosen program.Program, raw []byte) []byte {
	if chosen.Many > 0 {
		if parts, err := reply.Split(raw, 1); err == nil {
			return parts.Next()
		}
	}
	return raw
}

// run runs a program for the policy once by its source and once by its SHA.
func (p probe) run(ctx context.Context, s coordination.Sender, policy ratelimit.Policy, chosen program.Program, probed string) error {
	args := append(program.PolicyArgs(policy), "1")
	bySource, err := s.Send(ctx, executor.Command("EVAL", chosen.Source, []string{probed}, args))
	if err != nil {
		return err
	}
	bySource = decisionOf(chosen, bySource)
	if _, failed := reply.AsServerError(bySource); failed {
		return p.whyNot(ctx, s, probed, bySource)
	}
	if r, err := reply.Decode(bySource, policy.Limit()); err != nil || r.Status != model.Allowed {
		return &coordination.RefusedError{Need: fmt.Sprintf("%s does not run on this server: %q", chosen.ID(), bySource)}
	}
	bySHA, err := executor.Structured(ctx, s, chosen, []string{probed}, args)
	if err != nil {
		return err
	}
	return p.refused("EVALSHA", decisionOf(chosen, bySHA))
}

// whyNot names what keeps a program from running. Inside a program the server does
// not say which right is missing, and HSET is the only one not asked for before.
func (p probe) whyNot(ctx context.Context, s coordination.Sender, probed string, answer []byte) error {
	if err := p.refused("EVAL", answer); certainty.OfServerError(codeOf(answer)) != certainty.Program {
		return err
	}
	raw, err := s.Send(ctx, []any{"HSET", probed, "schema", "probe"})
	if err != nil {
		return err
	}
	if codeOf(raw) == "NOPERM" {
		return p.refused("HSET", raw)
	}
	if err := p.may(ctx, s, []any{"PEXPIRE", probed, probeLife.Milliseconds()}); err != nil {
		return err
	}
	return p.refused("EVAL", answer)
}

// codeOf is an error reply's code; "" for another reply.
func codeOf(raw []byte) string {
	if failed, ok := reply.AsServerError(raw); ok {
		return failed.Code
	}
	return ""
}

// refused names the command that an error reply refuses.
func (p probe) refused(command string, raw []byte) error {
	failed, ok := reply.AsServerError(raw)
	if !ok {
		return nil
	}
	need := fmt.Sprintf("%s is refused: %s", command, failed.Text)
	if certainty.OfServerError(failed.Code) == certainty.Credentials {
		need = fmt.Sprintf("the Redis user may not run %s on keys %s; grant it (%s)", command, p.keys.Pattern(), failed.Text)
	}
	return &coordination.RefusedError{Code: failed.Code, Need: need}
}
