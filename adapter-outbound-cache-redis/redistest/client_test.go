package redistest_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest/internal/frame"
)

const (
	patience = 10 * time.Second      // bounds a wait for what must come
	glimpse  = 30 * time.Millisecond // bounds a look at what must not come
)

// longAgo as a deadline ends a read at once.
var longAgo = time.Unix(1, 0)

type client struct {
	tb   testing.TB
	conn net.Conn
	r    *bufio.Reader
}

func dial(tb testing.TB, addr string) *client {
	tb.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	giveUp := time.AfterFunc(patience, func() { _ = conn.SetDeadline(longAgo) })
	tb.Cleanup(func() {
		giveUp.Stop()
		_ = conn.Close()
	})
	return &client{tb: tb, conn: conn, r: bufio.NewReader(conn)}
}

func request(words ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(word), word)
	}
	return b.String()
}

// send writes each command line, split at spaces, all in one packet.
func (c *client) send(lines ...string) {
	c.tb.Helper()
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(request(strings.Fields(line)...))
	}
	if _, err := io.WriteString(c.conn, b.String()); err != nil {
		c.tb.Fatalf("send %q: %v", lines, err)
	}
}

func (c *client) frame() frame.Reply {
	c.tb.Helper()
	reply, err := frame.ReadReply(c.r)
	if err != nil {
		c.tb.Fatalf("read a reply: %v after %q", err, reply.Raw)
	}
	return reply
}

func (c *client) want(replies ...string) {
	c.tb.Helper()
	for _, want := range replies {
		if got := string(c.frame().Raw); got != want {
			c.tb.Fatalf("reply %q, want %q", got, want)
		}
	}
}

// rest reads to the end of the connection and says how it ended.
func (c *client) rest() (string, string) {
	c.tb.Helper()
	got, err := io.ReadAll(c.r)
	switch {
	case err == nil:
		return string(got), "closed"
	case errors.Is(err, syscall.ECONNRESET):
		return string(got), "reset"
	}
	return string(got), err.Error()
}

// wantEnd expects these last bytes, and that the connection is closed or reset.
func (c *client) wantEnd(wantBytes, wantEnd string) {
	c.tb.Helper()
	if bytes, end := c.rest(); bytes != wantBytes || end != wantEnd {
		c.tb.Fatalf("the connection gave %.200q and was %q, want %.200q and %q", bytes, end, wantBytes, wantEnd)
	}
}

// wantMute expects that for a glimpse nothing comes, not even an end.
func (c *client) wantMute() {
	c.tb.Helper()
	defer time.AfterFunc(glimpse, func() { _ = c.conn.SetReadDeadline(longAgo) }).Stop()
	if b, err := c.r.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) {
		c.tb.Fatalf("the connection gave %q, %v; want it open and mute", b, err)
	}
	_ = c.conn.SetReadDeadline(time.Time{})
}

func eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	limit := time.After(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			tb.Fatalf("not within %v: %s", patience, what)
		}
	}
}

func wantRefused(tb testing.TB, addr string) {
	tb.Helper()
	conn, err := net.Dial("tcp", addr)
	if err == nil {
		_ = conn.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		tb.Fatalf("dial %s: %v, want connection refused", addr, err)
	}
}
