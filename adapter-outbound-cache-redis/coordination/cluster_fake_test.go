package coordination_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

const (
	patience = 15 * time.Second // for what must come by itself
	plenty   = 20 * time.Second // for a call that is not to end by its time
)

// verifier asks for one right, by EVAL on a key of its tag.
type verifier struct{ tag string }

func (v verifier) ProbeKey() string { return "{" + v.tag + "}" }

func (v verifier) Verify(ctx context.Context, s coordination.Sender) error {
	raw, err := s.Send(ctx, []any{"EVAL", "return 1", 1, v.ProbeKey()})
	if err != nil {
		return err
	}
	if failed, ok := reply.AsServerError(raw); ok {
		return &coordination.RefusedError{Code: failed.Code, Need: failed.Text}
	}
	return nil
}

func verifierAt(tag string) coordination.Verifier { return verifier{tag} }

// inboundConfig is a config as the inbound-web limiter has one: one budget, and a
// breaker that counts every failure and closes by no probe within a test.
func inboundConfig(addrs ...string) coordination.Config {
	return coordination.Config{
		Cluster: addrs, DialTimeout: plenty, CommandTimeout: plenty, OneBudget: true, MaxInFlight: 2,
		BreakerFailures: 3, BreakerProbeEvery: time.Hour, EveryFailure: true,
	}
}

// edgeConfig is one as the edge port has it.
func edgeConfig(addrs ...string) coordination.Config {
	c := inboundConfig(addrs...)
	c.OneBudget, c.EveryFailure, c.AdmissionWait = false, false, plenty
	return c
}

// openReady opens a cluster and waits until it is ready and warm, so that what a
// test scripts next is met by calls alone.
func openReady(t *testing.T, c coordination.Config) *coordination.Cluster {
	t.Helper()
	cluster, err := coordination.OpenCluster(c, verifierAt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.Close() })
	eventually(t, "be ready and warm", func() bool {
		stats := cluster.Stats()
		return cluster.Health().Ready && stats.Dialing == 0 && stats.Idle == len(c.Cluster)*c.MaxInFlight
	})
	return cluster
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	limit := time.After(patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("did not %s within %v", what, patience)
		}
	}
}

// keyIn is a key whose slot is one of the i-th of so many equal parts.
func keyIn(i, parts int) string {
	for n := range 100_000 {
		key := "key-" + strconv.Itoa(n)
		if slot := coordination.Slot(key); slot >= i*coordination.Slots/parts && slot < (i+1)*coordination.Slots/parts {
			return key
		}
	}
	panic("no key is of a slot in this part")
}

// call dispatches one call of these keys with time enough, and says what became of
// it: the reply, or else the fate.
func call(t *testing.T, to coordination.Endpoint, keys ...string) string {
	t.Helper()
	return callWithin(t, 3*plenty, to, keys...)
}

func callWithin(t *testing.T, limit time.Duration, to coordination.Endpoint, keys ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	long := coordination.Call{Program: program.SlidingLog}
	if copy(long.Keys[:], keys) > 1 {
		long.Program = program.SlidingLogDual
	}
	return say(to.Dispatch(ctx, long))
}

func say(r certainty.Result) string {
	switch {
	case r.Fate == certainty.Answered:
		return strings.TrimSpace(string(r.Raw))
	case r.Fate == certainty.Refused:
		return "refused " + map[certainty.Refusal]string{
			certainty.Deadline: "deadline", certainty.Overloaded: "overloaded", certainty.Dialing: "dialing",
			certainty.Unreachable: "unreachable", certainty.BreakerOpen: "breaker", certainty.Credentials: "credentials",
			certainty.Server: "server", certainty.Program: "program",
		}[r.Refusal]
	default:
		return "unanswered"
	}
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// sent is how many times each node was sent the program.
func sent(fake *redistest.FakeCluster) []int {
	var counts []int
	for _, node := range fake.Nodes {
		counts = append(counts, node.Received("EVALSHA"))
	}
	return counts
}
