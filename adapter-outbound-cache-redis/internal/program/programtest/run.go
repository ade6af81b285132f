package programtest

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

// Eval runs a program by its source and returns its reply as client values.
func Eval(t *testing.T, client *redis.Client, p program.Program, keys []string, argv ...string) []any {
	t.Helper()
	values, err := client.Do(context.Background(), Command("EVAL", p.Source, keys, argv)...).Slice()
	if err != nil {
		t.Fatalf("run %s %q: %v", p.ID(), argv, err)
	}
	return values
}

// Text is a reply in one line.
func Text(values []any) string {
	words := make([]string, len(values))
	for i, value := range values {
		words[i] = fmt.Sprint(value)
	}
	return strings.Join(words, " ")
}

// EvalBatch runs a batch program by its source: each decision in one line, the text of
// an error for one that failed.
func EvalBatch(t *testing.T, client *redis.Client, run program.Program, keys []string, argv ...string) []string {
	t.Helper()
	ran := redis.NewRawCmd(context.Background(), Command("EVAL", run.Source, keys, argv)...)
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

// Command is one call of a program: argv are all of its arguments.
func Command(verb, text string, keys, argv []string) []any {
	args := []any{verb, text, len(keys)}
	for _, word := range slices.Concat(keys, argv) {
		args = append(args, word)
	}
	return args
}

// BatchArgs are the arguments of a batch under p, of one cost a key.
func BatchArgs(p ratelimit.Policy, costs ...string) []string {
	return append(program.PolicyArgs(p), costs...)
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

// Line is a reply as EvalBatch shows it.
func Line(r model.Reply) string {
	return fmt.Sprintf("%s %d %d %d %d %d %d", r.Status, r.ServerNowMillis, r.EffectiveNowMillis,
		r.Limit, r.Remaining, r.RetryAfterMillis, r.ResetAtMillis)
}

// Blank is a decision without numbers at StateNowMillis.
func Blank(status model.Status) string {
	return Line(model.Reply{Status: status, ServerNowMillis: StateNowMillis, EffectiveNowMillis: StateNowMillis})
}
