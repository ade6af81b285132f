package coordination_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// hold8 holds the connections of a lane that has eight.
func (l lane) hold8() []*held {
	busy := make([]*held, 8)
	for i := range busy {
		busy[i] = l.hold()
		<-busy[i].stopped
	}
	return busy
}

// breaking is a connection whose first write of several commands breaks: after so many
// of its bytes as after says, given where each command ends.
type breaking struct {
	net.Conn
	broken *atomic.Bool // of all that share it one breaks
	after  func(ends []int) int
}

var errMidway = errors.New("the connection broke amid a write")

func (b breaking) Write(p []byte) (int, error) {
	var ends []int
	for end := 0; end < len(p); {
		n, err := reply.FrameLen(p[end:]) // a command has the form of a reply
		if err != nil {
			return 0, err
		}
		end += n
		ends = append(ends, end)
	}
	if len(ends) < 2 || !b.broken.CompareAndSwap(false, true) {
		return b.Conn.Write(p)
	}
	n, err := b.Conn.Write(p[:b.after(ends)])
	return n, errors.Join(errMidway, err)
}

// ofWindow is calls that charge one each, to keys of their own: of two batches, and
// alone.
func ofWindow(t *testing.T) []coordination.Call {
	t.Helper()
	p, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: "window", Revision: 1, Algorithm: ratelimit.FixedWindow{Limit: 10, Window: 366 * 24 * time.Hour}, MaxCost: 1,
		FailureMode: ratelimit.FailClosed, MaxClockRegression: time.Second, CleanupGrace: 30 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	shared := program.PolicyArgs(p)
	first := &coordination.Batch{Program: program.RateBatch, Shared: shared}
	second := &coordination.Batch{Program: program.RateBatch, Shared: shared}
	var calls []coordination.Call
	for i, batch := range []*coordination.Batch{first, first, nil, second, second, nil} {
		calls = append(calls, coordination.Call{
			Program: program.FixedWindow, Keys: [2]string{fmt.Sprintf("key-%d", i)},
			Args: append(slices.Clone(shared), "1"), Batch: batch,
		})
	}
	return calls
}

// Of a group whose write breaks, the commands of which a byte may have left are in
// doubt. Those behind them are carried anew, and charged once.
func TestGroup_thatBreaksAmidItsWriteIsInDoubtUpToThere(t *testing.T) {
	for _, row := range []struct {
		sentence string
		after    func(ends []int) int
		doubted  int // calls: 2, 3, 5 or 6 are whole commands
		whole    int // calls whose commands have left whole
	}{
		{"nothing has left", func([]int) int { return 0 }, 2, 0},
		{"half the first command has left", func(ends []int) int { return ends[0] / 2 }, 2, 0},
		{"the first command has left", func(ends []int) int { return ends[0] }, 2, 2},
		{"a byte of the second has left", func(ends []int) int { return ends[0] + 1 }, 3, 2},
		{"a byte of the third has left", func(ends []int) int { return ends[1] + 1 }, 5, 3},
		{"three commands have left", func(ends []int) int { return ends[2] }, 5, 5},
		{"all but the last byte has left", func(ends []int) int { return ends[3] - 1 }, 6, 5},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			server := redistest.Start(t)
			server.Do(t, "SCRIPT", "LOAD", program.FixedWindow.Source)
			server.Do(t, "SCRIPT", "LOAD", program.RateBatch.Source)
			c := edgeConfig()
			c.MaxInFlight = 32
			l := openLane(t, c, server.Addr(), 8)
			var broken atomic.Bool
			l.client.WrapIdle(func(conn net.Conn) net.Conn { return breaking{conn, &broken, row.after} })
			busy := l.hold8()
			calls := ofWindow(t)
			said := make([]chan string, len(calls))
			ctx, end := context.WithTimeout(t.Context(), 3*plenty)
			defer end()
			for i, call := range calls {
				said[i] = make(chan string, 1)
				l.startCall(ctx, call, said[i])
				l.waiting(i + 1)
			}
			busy[0].release()
			eventually(t, "break", broken.Load)
			for _, h := range busy[1:] {
				h.release()
			}
			for i := range calls {
				got := <-said[i]
				if doubted := got == "unanswered"; doubted != (i < row.doubted) || !doubted && !strings.Contains(got, "ALLOWED") {
					t.Errorf("call %d of %d in doubt: got %q", i, row.doubted, got)
				}
			}
			demandCharged(t, server, calls, row.doubted, row.whole)
		})
	}
}

// demandCharged fails unless the server has charged once each call that is not in doubt,
// at most once each that is, and none of which it has no whole command.
func demandCharged(t *testing.T, server *redistest.Server, calls []coordination.Call, doubted, whole int) {
	t.Helper()
	for i, call := range calls {
		may := []any{"1"}
		switch {
		case i < whole:
			may = []any{"1", nil}
		case i < doubted:
			may = []any{nil}
		}
		if got := server.Do(t, "HGET", call.Keys[0], "consumed"); !slices.Contains(may, got) {
			t.Errorf("call %d: the server charged %v, want one of %v", i, got, may)
		}
	}
}

// Callers of one budget leave one after the other a group that is not answered. To the
// breaker they are one failure, also where the first has gone before his time.
func TestGroup_thatItsCallersLeaveIsOneFailure(t *testing.T) {
	for _, row := range []struct {
		failures int // that open the breaker
		breaker  string
		goes     bool // the first caller
	}{
		{1, "open", false}, {2, "closed", false}, {1, "open", true}, {2, "closed", true},
	} {
		t.Run(fmt.Sprintf("%d failures open it, the first caller goes: %v", row.failures, row.goes), func(t *testing.T) {
			t.Parallel()
			node := redistest.StartFakes(t, 1).Nodes[0]
			c := inboundConfig()
			c.MaxInFlight, c.CommandTimeout, c.BreakerFailures = 32, 4*time.Second, row.failures
			l := openLane(t, c, node.Addr(), 8)
			busy := l.hold8()
			said := make(chan string, 5)
			first, leave := context.WithCancel(t.Context())
			defer leave()
			for i := range cap(said) {
				ctx := t.Context()
				if i == 0 {
					ctx = first
				}
				l.start(ctx, said)
				l.waiting(i + 1)
			}
			node.Answer("EVALSHA", 1, "+OK\r\n")
			node.Answer("EVALSHA", -1, "*") // never a whole reply
			expect(t, "a busy one", busy[0].release(), "+OK")
			eventually(t, "send the group", func() bool { return node.Received("EVALSHA") == 1+cap(said) })
			if row.goes {
				leave()
			}
			for _, h := range busy[1:] {
				h.leave() // before his time, so that he tells the breaker nothing
			}
			for range cap(said) {
				expect(t, "a caller", <-said, "unanswered")
			}
			expect(t, "the breaker", l.client.Breaker(), row.breaker)
			for _, h := range busy[1:] {
				h.release()
			}
		})
	}
}
