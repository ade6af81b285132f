package promises_test

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/executor"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
)

// unheard is p with a comment that no server has seen, and so a SHA that none knows.
func unheard(p program.Program) program.Program {
	p.Source += "\n-- " + rand.Text()
	p.SHA = redis.NewScript(p.Source).Hash()
	return p
}

// texts is how often the tap saw a program sent by its SHA and by its source.
func (t *tap) texts(p program.Program) (bySHA, bySource int) {
	for _, words := range t.requests() {
		switch {
		case words[0] == "EVALSHA" && words[1] == p.SHA:
			bySHA++
		case words[0] == "EVAL" && words[1] == p.Source:
			bySource++
		}
	}
	return bySHA, bySource
}

// unheardPrograms dispatches programs that the server does not know, on the
// provider's connection.
func unheardPrograms(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	tap := newTap(t, s.server.Addr)
	connection := s.open(func(c *redislimit.Config) { c.Redis.Addr = tap.addr }).Provider.Connection()
	dispatch := func(call coordination.Call) string {
		ctx, cancel := context.WithTimeout(t.Context(), 4*generous)
		defer cancel()
		result := connection.Dispatch(ctx, call)
		if result.Fate != certainty.Answered {
			t.Errorf("%s: %+v", call.Program.ID(), result)
		}
		return firstWord(result.Raw)
	}
	var calls []coordination.Call
	for _, p := range programtest.Ordinary(t) {
		run := unheard(program.For(p.Algorithm()))
		calls = append(calls, coordination.Call{Program: run, Keys: [2]string{s.key(run.Name)}, Args: append(program.PolicyArgs(p), "1")})
	}
	calls = append(calls,
		coordination.Call{Program: unheard(program.SlidingLog), Keys: [2]string{s.key("log")}, Args: []string{"60000000", "5"}},
		coordination.Call{Program: unheard(program.SlidingLogDual), Keys: [2]string{s.key("outer"), s.key("inner")}, Args: []string{"60000000", "5", "5"}})
	for _, call := range calls {
		for range 3 {
			if got := dispatch(call); got != "ALLOWED" {
				t.Errorf("%s: got %s, want ALLOWED", call.Program.ID(), got)
			}
		}
		if bySHA, bySource := tap.texts(call.Program); bySHA != 3 || bySource != 1 {
			t.Errorf("%s: sent %d times by its SHA and %d by its source, want 3 and 1", call.Program.ID(), bySHA, bySource)
		}
	}
	evidence.Record(t, "programs dispatched though the server did not know their script", "%d, each answered and sent by its source once", len(calls))
}

// firstWord is the status in a raw reply of a program.
func firstWord(raw []byte) string {
	for line := range strings.SplitSeq(string(raw), "\r\n") {
		if line != "" && line[0] != '*' && line[0] != '$' {
			return line
		}
	}
	return ""
}

// Calls that come at once run together, as a batch that the server does not know: each is charged once.
func unheardBatch(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	tap := newTap(t, s.server.Addr)
	connection := s.open(func(c *redislimit.Config) {
		c.Redis.Addr, c.Redis.MaxInFlight, c.Redis.AdmissionWait = tap.addr, 256, generous
	}).Provider.Connection()
	p := programtest.Ordinary(t)[0]
	const callers = 400
	for began := time.Now(); ; {
		batch := &coordination.Batch{Program: unheard(program.RateBatch), Shared: program.PolicyArgs(p)}
		keys := make([]string, callers)
		var all sync.WaitGroup
		for i := range keys {
			keys[i] = s.key(rand.Text())
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 4*generous)
				defer cancel()
				result := connection.Dispatch(ctx, coordination.Call{
					Program: program.FixedWindow, Keys: [2]string{keys[i]}, Args: append(slices.Clone(batch.Shared), "1"), Batch: batch,
				})
				if got := firstWord(result.Raw); got != "ALLOWED" {
					t.Errorf("got %s, %+v, want ALLOWED", got, result)
				}
			})
		}
		all.Wait()
		for _, key := range keys {
			if got := s.client.HGet(t.Context(), key, "consumed").Val(); got != "1" {
				t.Errorf("charged %q, want 1", got)
			}
		}
		if bySHA, bySource := tap.texts(batch.Program); bySource > 0 || t.Failed() {
			evidence.Record(t, "calls at once whose batch the server did not know", "%d, each charged once; %d batches by SHA, %d by source",
				callers, bySHA, bySource)
			return
		}
		if time.Since(began) > generous {
			t.Fatal("no calls ran together")
		}
	}
}

// sender sends as the executor asks, over an ordinary client.
type sender struct{ client *redis.Client }

// Send implements [executor.Sender].
func (s sender) Send(ctx context.Context, args []any) ([]byte, error) {
	ran := redis.NewRawCmd(ctx, args...)
	err := s.client.Process(ctx, ran)
	if _, refused := err.(redis.Error); refused {
		return []byte("-" + err.Error() + "\r\n"), nil
	}
	return ran.Val(), err
}

func unheardAlone(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	p := programtest.Ordinary(t)[0]
	batch, batches := unheard(program.RateBatch), 0
	for ; batches < 2; batches++ {
		raw, err := executor.Structured(t.Context(), sender{s.client}, batch, []string{s.key("a"), s.key("b")}, programtest.BatchArgs(p, "1", "2"))
		if err != nil {
			t.Fatal(err)
		}
		parts, err := reply.Split(raw, 2)
		if err != nil || firstWord(parts.Next()) != "ALLOWED" || firstWord(parts.Next()) != "ALLOWED" {
			t.Errorf("got %q, %v, want two ALLOWED", raw, err)
		}
	}
	replace, replaced := unheard(program.CacheCompareAndReplace), 0
	token, next := strings.Repeat("a", 16), strings.Repeat("b", 16)
	s.do("SET", s.key("entry"), token+"old", "PX", "60000")
	for _, want := range []int64{1, 0} { // the second one's token is not there any more
		got, err := executor.Scalar(t.Context(), s.client, replace, []string{s.key("entry")}, []string{token, next + "new", "60000"})
		if got != want || err != nil {
			t.Errorf("got %v, %v, want %d", got, err, want)
		}
		replaced++
	}
	if got := s.do("GET", s.key("entry")); got != next+"new" {
		t.Errorf("the entry is %q", got)
	}
	evidence.Record(t, "runs by themselves of programs that the server did not know",
		"%d batches of two, %d of the cache's compare and replace", batches, replaced)
}
