package coordination_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// lane is a client of one server, to which no more connections are opened once it is
// warm.
type lane struct {
	t      *testing.T
	node   *redistest.FakeNode // the server, unless it is a real one
	client *coordination.Client
}

func newLane(t *testing.T, places, open int) lane {
	t.Helper()
	node := redistest.StartFakes(t, 1).Nodes[0]
	c := edgeConfig()
	c.MaxInFlight = places
	l := openLane(t, c, node.Addr(), open)
	l.node = node
	return l
}

func openLane(t *testing.T, c coordination.Config, addr string, open int) lane {
	t.Helper()
	l := lane{t: t}
	c.Cluster = nil
	var warm atomic.Bool
	c.Resolve = func(ctx context.Context) (string, error) {
		if warm.Load() {
			<-ctx.Done()
			return "", ctx.Err()
		}
		return addr, nil
	}
	client, err := coordination.Open(c, verifierAt("a"))
	if err != nil {
		t.Fatal(err)
	}
	l.client = client
	t.Cleanup(func() { _ = client.Close() })
	eventually(t, "be warm", func() bool {
		stats := client.Stats()
		return client.Health().Ready && stats.Dialing == 0 && stats.Idle == open
	})
	warm.Store(true)
	return l
}

// held is a caller whose call stops between its connection and the wire until go is
// closed.
type held struct {
	context.Context
	leave   context.CancelFunc
	asked   atomic.Int32
	stopped chan struct{} // closed when it has stopped
	proceed chan struct{}
	said    chan string
}

// Err implements context.Context. The pool's connection asks after the dispatch has.
func (h *held) Err() error {
	if h.asked.Add(1) == 2 {
		close(h.stopped)
		<-h.proceed
	}
	return h.Context.Err()
}

// hold starts a call that will stop.
func (l lane) hold() *held {
	ctx, cancel := context.WithTimeout(l.t.Context(), 3*plenty)
	h := &held{Context: ctx, leave: cancel, stopped: make(chan struct{}), proceed: make(chan struct{}), said: make(chan string, 1)}
	l.start(h, h.said)
	return h
}

// start starts a call.
func (l lane) start(ctx context.Context, said chan<- string) {
	l.startCall(ctx, coordination.Call{Program: program.FixedWindow, Keys: [2]string{"key"}}, said)
}

func (l lane) startCall(ctx context.Context, call coordination.Call, said chan<- string) {
	go func() { said <- say(l.client.Dispatch(ctx, call)) }()
}

func (l lane) waiting(n int) {
	l.t.Helper()
	eventually(l.t, fmt.Sprintf("have %d in line", n), func() bool { return l.client.Stats().Waiting == n })
}

func (h *held) release() string {
	close(h.proceed)
	defer h.leave()
	return <-h.said
}

// A caller whose call has been handed to a connection that has not sent it yet leaves
// at once, and it never is; its neighbours are.
func TestLane_whoLeavesBeforeHisCallIsSentIsNotSent(t *testing.T) {
	l := newLane(t, 16, 8)
	busy := l.hold8()
	first := l.hold()
	l.waiting(1)
	ctx, leave := context.WithTimeout(t.Context(), 3*plenty)
	defer leave()
	left, stays := make(chan string, 1), make(chan string, 1)
	l.start(ctx, left)
	l.waiting(2)
	other, end := context.WithTimeout(t.Context(), 3*plenty)
	defer end()
	l.start(other, stays)
	l.waiting(3)

	before := l.node.Received("EVALSHA")
	expect(t, "a busy one", busy[0].release(), "+OK")
	<-first.stopped
	if got := l.client.Stats(); got.Waiting != 0 || got.InFlight != 10 {
		t.Fatalf("%+v, want the group of three handed on", got)
	}
	leave()
	expect(t, "who left", <-left, "refused deadline")
	expect(t, "the first", first.release(), "+OK")
	expect(t, "who stayed", <-stays, "+OK")
	if got := l.node.Received("EVALSHA") - before; got != 3 {
		t.Errorf("%d calls were sent, want 3: the busy one, the first, and who stayed", got)
	}
	for _, h := range busy[1:] {
		expect(t, "a busy one", h.release(), "+OK")
	}
}

// A caller alone whose patience ends beside his read, and not in it, leaves nothing of
// that to the group that his connection takes next.
func TestLane_whoLeavesBesideHisReadHarmsNoGroup(t *testing.T) {
	l := newLane(t, 2, 2)
	busy := l.hold()
	<-busy.stopped
	alone := l.hold()
	<-alone.stopped
	ended := make(chan struct{})
	alone.leave()
	context.AfterFunc(alone.Context, func() { close(ended) })
	<-ended
	next, end := context.WithTimeout(t.Context(), 3*plenty)
	defer end()
	said := make(chan string, 1)
	l.start(next, said)
	l.waiting(1)
	expect(t, "who left", alone.release(), "refused deadline")
	expect(t, "the next", <-said, "+OK")
	expect(t, "the busy one", busy.release(), "+OK")
	if got := l.client.Breaker(); got != "closed" {
		t.Errorf("the breaker is %s, want closed", got)
	}
}
