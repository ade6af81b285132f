package program_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// timedBatch is the batch program behind the clock that a test sets.
var timedBatch = program.WithClock(program.RateBatch, setClock)

// batchCommand is one call of a batch program: argv are all of its arguments.
func batchCommand(verb, text string, keys, argv []string) []any {
	args := []any{verb, text, len(keys)}
	for _, word := range slices.Concat(keys, argv) {
		args = append(args, word)
	}
	return args
}

// batchArgs are the arguments of a batch under p, of one cost a key.
func batchArgs(p ratelimit.Policy, costs ...string) []string {
	return append(program.PolicyArgs(p), costs...)
}

// evalBatch runs a batch program by its source: each decision in one line, the text of
// an error for one that failed.
func evalBatch(t *testing.T, client *redis.Client, run program.Program, keys []string, argv ...string) []string {
	t.Helper()
	ran := redis.NewRawCmd(context.Background(), batchCommand("EVAL", run.Source, keys, argv)...)
	if err := client.Process(context.Background(), ran); err != nil {
		t.Fatalf("run %s %q: %v", run.ID(), argv, err)
	}
	parts, err := reply.Split(ran.Val(), len(keys))
	if err != nil {
		t.Fatalf("run %s %q: %v: %q", run.ID(), argv, err, ran.Val())
	}
	lines := make([]string, len(keys))
	for i := range lines {
		lines[i] = lineOf(parts.Next())
	}
	return lines
}

// lineOf is a raw decision or an error in one line.
func lineOf(raw []byte) string {
	if failed, ok := reply.AsServerError(raw); ok {
		return failed.Text
	}
	var words []string
	for line := range strings.SplitSeq(strings.TrimSpace(string(raw)), "\r\n") {
		if line[0] != '*' && line[0] != '$' {
			words = append(words, strings.TrimPrefix(line, ":"))
		}
	}
	return strings.Join(words, " ")
}

// line is a reply as evalBatch shows it.
func line(r model.Reply) string {
	return fmt.Sprintf("%s %d %d %d %d %d %d", r.Status, r.ServerNowMillis, r.EffectiveNowMillis,
		r.Limit, r.Remaining, r.RetryAfterMillis, r.ResetAtMillis)
}

// blank is a decision without numbers at stateNowMillis.
func blank(status model.Status) string {
	return line(model.Reply{Status: status, ServerNowMillis: stateNowMillis, EffectiveNowMillis: stateNowMillis})
}

// life is what a key's lifetime ought to be: as it was set, and the instant at which
// it then ends; an instant of 0 is not known.
type life struct{ millis, ends int64 }

// noLife is of a key that is not there.
var noLife = life{millis: -2}

// after is the life of a key after a decision: each write sets it.
func (l life) after(r model.Reply, ttlMillis int64) life {
	if r.Status != model.Allowed {
		return l
	}
	return life{ttlMillis, r.ServerNowMillis + ttlMillis}
}

// demandLife fails unless the key lives as long as it ought to, but for what has
// passed since at most.
func demandLife(t *testing.T, key string, pttl int64, want life, passedMillis int64) {
	t.Helper()
	if got := lifetime(pttl); got > want.millis || got < want.millis-passedMillis {
		t.Fatalf("%s: lifetime %d, want %d to %d", key, got, want.millis-passedMillis, want.millis)
	}
}
