package duallog

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/executor"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"
	"github.com/edgelimit/edgelimit/shared-contract/model"
)

// probe checks that the server lets its user run every command of the program,
// then the program with two layers, on keys of its own that live two seconds. No
// tenant's key can be one of them: an escaped id holds no colon.
type probe struct {
	tag string // a word that decides the slot of the keys on a cluster; "" elsewhere
}

func probeAt(tag string) coordination.Verifier { return probe{tag: tag} }

// ProbeKey implements [coordination.Verifier].
func (p probe) ProbeKey() string { return "rl:{probe:" + p.tag + "}" }

// Verify implements [coordination.Verifier]. Each right but ZADD is asked for by
// itself before the program runs, so that one that is missing after the first
// write is named and leaves no key without a lifetime.
func (p probe) Verify(ctx context.Context, s coordination.Sender) error {
	outer := p.ProbeKey() + ":" + rand.Text()
	keys, args := []string{outer, outer + ":user:probe"}, []string{"1000000", "2", "2"}
	for _, command := range [][]any{
		{"TIME"},
		{"TYPE", outer},
		{"ZRANGE", outer, -1, -1, "WITHSCORES"},
		{"ZCOUNT", outer, 0, 0},
		{"ZREMRANGEBYSCORE", outer, 0, 0},
		{"PEXPIRE", outer, 2000},
	} {
		raw, err := s.Send(ctx, command)
		if err != nil {
			return err
		}
		if err := refusedRight(fmt.Sprint(command[0]), raw); err != nil {
			return err
		}
	}
	bySource, err := s.Send(ctx, executor.Command("EVAL", program.SlidingLogDual.Source, keys, args))
	if err != nil {
		return err
	}
	if failed, ok := reply.AsServerError(bySource); ok {
		if certainty.OfServerError(failed.Code) != certainty.Program {
			return refusedRight("EVAL", bySource)
		}
		need := fmt.Sprintf("the log program is refused, perhaps for want of ZADD on keys rl:*: %s", failed.Text)
		return &coordination.RefusedError{Code: "NOPERM", Need: need}
	}
	if status, _, err := reply.DecodeLog(bySource, 2, 2); err != nil || status != model.Allowed {
		return &coordination.RefusedError{Need: fmt.Sprintf("the log program does not run on this server: %q", bySource)}
	}
	bySHA, err := executor.Structured(ctx, s, program.SlidingLogDual, keys, args)
	if err != nil {
		return err
	}
	return refusedRight("EVALSHA", bySHA)
}

// refusedRight names the command that an error reply refuses.
func refusedRight(command string, raw []byte) error {
	failed, ok := reply.AsServerError(raw)
	if !ok {
		return nil
	}
	need := fmt.Sprintf("%s is refused: %s", command, failed.Text)
	if certainty.OfServerError(failed.Code) == certainty.Credentials {
		need = fmt.Sprintf("the Redis user may not run %s on keys rl:*; grant it (%s)", command, failed.Text)
	}
	return &coordination.RefusedError{Code: failed.Code, Need: need}
}
