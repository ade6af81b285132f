// Package executor runs one Lua program by itself. Structured is the path of a
// limiter's program that verifies a server, or that runs on a slot that is still
// coming to a node: a bounded array in raw bytes, over a connection whose failures
// tell what was sent. All other calls of the limiters are sent in groups, by package
// coordination. Scalar is the path of programs that answer one value over an ordinary
// client.
//
// The one rule that matters: a program is sent by its SHA, and only the answer
// NOSCRIPT, which proves that nothing ran, lets its exact source follow, once.
package executor

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"
)

// Sender sends one command and reads one raw reply, at most once each.
type Sender interface {
	Send(ctx context.Context, args []any) (raw []byte, err error)
}

// Structured runs p over s and returns the raw reply, which may be an error
// reply.
func Structured(ctx context.Context, s Sender, p program.Program, keys, argv []string) ([]byte, error) {
	raw, err := s.Send(ctx, Command("EVALSHA", p.SHA, keys, argv))
	if err != nil {
		return nil, err
	}
	if refused, ok := reply.AsServerError(raw); !ok || refused.Code != "NOSCRIPT" {
		return raw, nil
	}
	return s.Send(ctx, Command("EVAL", p.Source, keys, argv))
}

// Doer is the part of a go-redis client that Scalar needs.
type Doer interface {
	Do(ctx context.Context, args ...any) *redis.Cmd
}

// Scalar runs p over d and returns its one value: an int64, a string, or nil.
// An array is an error.
func Scalar(ctx context.Context, d Doer, p program.Program, keys, argv []string) (any, error) {
	value, err := d.Do(ctx, Command("EVALSHA", p.SHA, keys, argv)...).Result()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		value, err = d.Do(ctx, Command("EVAL", p.Source, keys, argv)...).Result()
	}
	switch {
	case err == redis.Nil:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("run %s: %w", p.ID(), err)
	}
	switch value.(type) {
	case int64, string:
		return value, nil
	default:
		return nil, fmt.Errorf("run %s: the reply is no scalar", p.ID())
	}
}

// Command is EVAL or EVALSHA of one program.
func Command(verb, text string, keys, argv []string) []any {
	args := make([]any, 0, 3+len(keys)+len(argv))
	args = append(args, verb, text, len(keys))
	for _, key := range keys {
		args = append(args, key)
	}
	for _, arg := range argv {
		args = append(args, arg)
	}
	return args
}
