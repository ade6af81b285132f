package history_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// seeded runs the text of a seed: a limiter as small as can be.
type seeded struct {
	seed   seed
	prefix string
	script *redis.Script
	client *redis.Client
	batch  chan *question // of a batch program; nil otherwise
	ended  chan struct{}
}

// question is a call that waits for its place in a batch.
type question struct {
	of       *operation
	answered chan struct{}
}

// mostTogether is how many calls the seeded limiter makes one batch of.
const mostTogether = 16

func openSeeded(ctx context.Context, o orders) (limiter, error) {
	text, err := seeds[o.Seed].text()
	if err != nil {
		return nil, err
	}
	options := redis.Options{
		Addr: o.Addr, Protocol: o.Protocol, MaxRetries: o.Retries, DisableIdentity: true, PoolSize: clients, ReadTimeout: o.Timeout,
	}
	if o.Retries == 0 {
		options.MaxRetries = -1 // where 0 is the client's own number
	}
	s := &seeded{seed: seeds[o.Seed], prefix: o.Prefix, script: redis.NewScript(text), ended: make(chan struct{}), client: redis.NewClient(&options)}
	if s.seed.program.Many == 0 {
		close(s.ended)
	} else {
		s.batch = make(chan *question, clients)
		go s.answer(ctx)
	}
	return s, s.script.Load(ctx, s.client).Err()
}

func (s *seeded) close() {
	if s.batch != nil {
		close(s.batch)
	}
	<-s.ended
	_ = s.client.Close()
}

func (s *seeded) ask(ctx context.Context, o *operation) {
	switch {
	case s.batch != nil:
		q := &question{o, make(chan struct{})}
		s.batch <- q
		<-q.answered
	case s.seed.limiter == slidingLog:
		o.took(s.runLog(ctx, o.Call))
	default:
		o.took(s.run(ctx, []string{s.key(o.Call)}, append(program.PolicyArgs(policyOf(o.Call.Limiter)), fmt.Sprint(o.Call.Cost))))
	}
}

func (s *seeded) key(c call) string { return s.prefix + ":" + c.Limiter + ":" + c.Subject }

func (s *seeded) runLog(ctx context.Context, c call) ([]any, error) {
	keys, args := []string{c.Subject}, []string{fmt.Sprint(logWindow.Microseconds()), fmt.Sprint(tenantLimit)}
	if c.User != 0 {
		keys, args = append(keys, userOf(c.Subject, c.User)), append(args, fmt.Sprint(userLimit))
	}
	return s.run(ctx, keys, args)
}

// run runs the program, and then the writes that it has left to its caller.
func (s *seeded) run(ctx context.Context, keys, args []string) ([]any, error) {
	words := make([]any, len(args))
	for i, arg := range args {
		words[i] = arg
	}
	reply, err := s.script.Run(ctx, s.client, keys, words...).Slice()
	if err != nil || len(reply) == 0 {
		return nil, err
	}
	writes, left := reply[0].([]any)
	if !left || s.batch != nil {
		return reply, nil
	}
	_, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, write := range writes {
			p.Do(ctx, write.([]any)...)
		}
		return nil
	})
	return reply[1:], err
}

// answer makes batches of the calls that wait at a time.
func (s *seeded) answer(ctx context.Context) {
	defer close(s.ended)
	for first := range s.batch {
		together := []*question{first}
		for len(s.batch) > 0 && len(together) < mostTogether {
			together = append(together, <-s.batch)
		}
		args, keys := program.PolicyArgs(policyOf(s.seed.limiter)), []string(nil)
		for _, q := range together {
			keys, args = append(keys, s.key(q.of.Call)), append(args, fmt.Sprint(q.of.Call.Cost))
		}
		replies, err := s.run(ctx, keys, args)
		for i, q := range together {
			if err != nil || i >= len(replies) {
				q.of.failed(wrong, fmt.Sprint(err))
			} else {
				one, _ := replies[i].([]any)
				q.of.took(one, nil)
			}
			close(q.answered)
		}
	}
}

// took notes the reply of a program.
func (o *operation) took(reply []any, err error) {
	numbers := make([]int64, 7)
	for i, v := range reply {
		if n, ok := v.(int64); ok && i < len(numbers) {
			numbers[i] = n
		}
	}
	var broken *net.OpError
	switch {
	case errors.As(err, &broken) && broken.Op == "dial":
		o.failed(refused, err.Error())
		return
	case err != nil:
		o.failed(unknown, err.Error())
		return
	case len(reply) == 0 || reply[0] != "ALLOWED" && reply[0] != "DENIED":
		o.failed(wrong, fmt.Sprint(reply...))
		return
	}
	millis := func(i int) time.Duration { return time.Duration(numbers[i]) * time.Millisecond }
	if o.Call.Limiter == slidingLog {
		o.Verdict = slidinglog.Verdict{
			Allowed: reply[0] == "ALLOWED", RetryAfter: millis(3),
			Outer: slidinglog.Layer{Remaining: int(numbers[1]), ResetAfter: millis(4)},
			Inner: slidinglog.Layer{Remaining: int(numbers[2]), ResetAfter: millis(5)},
		}
		return
	}
	o.Decision = ratelimit.Decision{
		Allowed: reply[0] == "ALLOWED", ObservedAtMillis: numbers[1], Limit: numbers[3], Remaining: numbers[4],
		RetryAfter: millis(5), ResetAtMillis: numbers[6],
	}
}
