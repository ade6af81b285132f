package redistest

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// Link is a TCP link between clients and one server that fails on command. Left alone it passes everything on.
//
// It reads both directions as RESP frames. Replies are matched to requests in their order on the connection; RESP3
// pushes pass through and are no replies. What was forwarded the server runs, even if the client has gone meanwhile.
// A connection whose bytes are not RESP is closed, after what has arrived of a broken reply was passed on. Inline
// commands are not RESP here, and connections that subscribe, monitor or turn replies off are beyond the matching.
//
// All methods may be called from several goroutines. There is no use for the zero value.
type Link struct {
	tb     testing.TB
	target string
	addr   string
	ctx    context.Context // cancelled at cleanup
	tasks  sync.WaitGroup

	mu        sync.Mutex
	listener  net.Listener // nil while refusing
	conns     map[*conn]struct{}
	open      int
	maxOpen   int
	dials     int64
	hole      bool
	rules     []*rule
	forwarded map[string]int64
}

// NewLink listens on a free loopback port and links each connection to one of its own to target, a host:port. If the
// target cannot be reached, the client's connection is reset, which a dial may already report. Everything is closed
// at tb's cleanup.
func NewLink(tb testing.TB, target string) *Link {
	tb.Helper()
	listener, err := listenLoopback()
	if err != nil {
		tb.Fatalf("open a link to %s: %v", target, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &Link{
		tb:        tb,
		target:    target,
		addr:      listener.Addr().String(),
		ctx:       ctx,
		conns:     map[*conn]struct{}{},
		forwarded: map[string]int64{},
	}
	l.mu.Lock()
	l.listen(listener)
	l.mu.Unlock()
	tb.Cleanup(func() {
		cancel()
		l.Refuse()
		l.abandon()
		l.tasks.Wait()
	})
	return l
}

// Addr is the host:port for clients to dial. It stays the same over Refuse and Heal.
func (l *Link) Addr() string { return l.addr }

// Refuse closes the listener: new dials are refused until Heal. Open connections stay.
func (l *Link) Refuse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listener != nil {
		_ = l.listener.Close()
		l.listener = nil
	}
}

// Cut closes every open connection now. New dials are accepted unless the link refuses.
func (l *Link) Cut() {
	for _, c := range l.list(func(*conn) bool { return true }) {
		c.closeClient()
	}
}

// Blackhole accepts and reads but forwards nothing and answers nothing, on new and on open connections, until Heal.
// Replies on their way are lost too, and so is the end of a connection that the server closes.
func (l *Link) Blackhole() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hole = true
}

// Heal listens again and ends every fault. Connections that a black hole took something from, or that were opened in
// it, are closed, because their replies would no longer match; those that were idle in it go on. The test fails if
// the port cannot be had again.
func (l *Link) Heal() {
	l.mu.Lock()
	l.hole = false
	l.rules = nil
	if l.listener == nil {
		listener, err := l.listenAgain()
		if err != nil {
			l.tb.Errorf("heal the link to %s: %v", l.target, err)
		} else {
			l.listen(listener)
		}
	}
	l.mu.Unlock()
	for _, c := range l.list(func(c *conn) bool { return c.lost }) {
		c.closeClient()
	}
}

// Fault lets the next times requests of a command, on any connection, meet f; below zero, all of them until Heal. The
// command is the first word in either case, "" for any. Faults add up: a request meets the earliest one set that fits
// it and is not used up. Requests that a black hole took use up nothing.
func (l *Link) Fault(command string, times int, f Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rules = append(l.rules, &rule{command: strings.ToUpper(command), left: times, fault: f})
}

// Forwarded is how many requests of a command, "" for any, were passed on to the server's connection so far. A
// request is counted before its reply can arrive; one handed to a server that has just died counts too.
func (l *Link) Forwarded(command string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if command != "" {
		return l.forwarded[strings.ToUpper(command)]
	}
	var all int64
	for _, n := range l.forwarded {
		all += n
	}
	return all
}

// Open is how many client connections are open now. One that the client closed counts until the link has seen it.
func (l *Link) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// MaxOpen is the most client connections that were open at the same time so far.
func (l *Link) MaxOpen() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.maxOpen
}

// Dials is how many client connections were accepted so far.
func (l *Link) Dials() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dials
}

// listen needs the lock.
func (l *Link) listen(listener net.Listener) {
	l.listener = listener
	l.tasks.Go(func() {
		for {
			client, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				l.tb.Errorf("link to %s: %v", l.target, err)
				return
			}
			c := l.admit(client.(*net.TCPConn))
			l.tasks.Go(c.serve)
		}
	})
}

// listenAgain waits for the port for a while, in case a stranger has it for a moment.
func (l *Link) listenAgain() (net.Listener, error) {
	ctx, cancel := context.WithTimeout(l.ctx, stopLimit)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		listener, err := net.Listen("tcp", l.addr)
		if err == nil {
			return listener, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

func (l *Link) admit(client *net.TCPConn) *conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := newConn(l, client)
	l.conns[c] = struct{}{}
	l.dials++
	l.open++
	l.maxOpen = max(l.maxOpen, l.open)
	return c
}

// meet decides what happens to a request that has just been read.
func (l *Link) meet(c *conn, command string) Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.lost = c.lost || l.hole
	if c.lost {
		return Swallow()
	}
	var f Fault
	for _, r := range l.rules {
		if r.take(command) {
			f = r.fault
			break
		}
	}
	if f.forwards() {
		l.forwarded[command]++
	}
	return f
}

// takes says whether a black hole takes what is about to be passed on to the client of c.
func (l *Link) takes(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.lost = c.lost || l.hole
	return c.lost
}

func (l *Link) list(which func(*conn) bool) []*conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []*conn
	for c := range l.conns {
		if which(c) {
			found = append(found, c)
		}
	}
	return found
}

func (l *Link) abandon() {
	for _, c := range l.list(func(*conn) bool { return true }) {
		c.closeClient()
		c.closeServer()
	}
}
