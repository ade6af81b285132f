package promises_test

import (
	"fmt"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// asker is one way to have a decision made at a set time.
type asker struct {
	name string
	ask  func(s *scene, p ratelimit.Policy, key string, nowMillis, cost int64) model.Reply
}

// askers are both ways: an algorithm's program and the batch.
var askers = []asker{
	{"single", func(s *scene, p ratelimit.Policy, key string, nowMillis, cost int64) model.Reply {
		timed := program.WithClock(program.For(p.Algorithm()), programtest.SetClock)
		argv := append(program.PolicyArgs(p), programtest.Decimal(cost), programtest.Decimal(nowMillis))
		return replyIn(s.T, programtest.Text(programtest.Eval(s.T, s.client, timed, []string{key}, argv...)))
	}},
	{"batch", func(s *scene, p ratelimit.Policy, key string, nowMillis, cost int64) model.Reply {
		argv := append(programtest.BatchArgs(p, programtest.Decimal(cost)), programtest.Decimal(nowMillis))
		return replyIn(s.T, programtest.EvalBatch(s.T, s.client, programtest.TimedBatch, []string{key}, argv...)[0])
	}},
}

// replyIn reads a reply in one line.
func replyIn(t *testing.T, line string) model.Reply {
	t.Helper()
	var r model.Reply
	if _, err := fmt.Sscan(line, &r.Status, &r.ServerNowMillis, &r.EffectiveNowMillis,
		&r.Limit, &r.Remaining, &r.RetryAfterMillis, &r.ResetAtMillis); err != nil {
		t.Fatalf("read %q: %v", line, err)
	}
	return r
}
