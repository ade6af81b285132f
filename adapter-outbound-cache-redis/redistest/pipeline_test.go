package redistest_test

import (
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

func TestLink_pipelineKeepsRepliesWithTheirRequests(t *testing.T) {
	server := redistest.Start(t)
	link, c := greeted(t, server)
	link.Fault("GET", 1, redistest.Replace([]byte("$-1\r\n")))
	c.send("SET a 1", "INCR b", "GET a", "GET a", "INCR b")
	c.want("+OK\r\n", ":1\r\n", "$-1\r\n", "$1\r\n1\r\n", ":2\r\n")
}

func TestLink_pipelineLosesOnlyWhatFollowsTheFault(t *testing.T) {
	server := redistest.Start(t)
	link, c := greeted(t, server)
	link.Fault("DECR", 1, redistest.LoseReply())
	c.send("INCR a", "DECR b", "INCR c")
	c.wantEnd(":1\r\n", "closed")
	eventually(t, "what was forwarded runs", func() bool { return server.Do(t, "GET", "c") == once })
	if got := server.Do(t, "GET", "b"); got != "-1" {
		t.Errorf("the faulted command left %v, want -1", got)
	}
}

func TestLink_aClientThatLeavesIsStillServed(t *testing.T) {
	server := redistest.Start(t)
	link, c := greeted(t, server)
	server.Pause(t)
	// More than the server reads at once, so that a reset by its first replies would cost the rest.
	c.send(slices.Repeat([]string{"INCR counter"}, 4000)...)
	_ = c.conn.Close()
	eventually(t, "the link has seen it leave", func() bool { return link.Open() == 0 })
	server.Resume(t)
	eventually(t, "the server counts all", func() bool { return server.Do(t, "GET", "counter") == "4000" })
}

func TestLink_pushesAreNoReplies(t *testing.T) {
	server := redistest.Start(t)
	link, c := greeted(t, server)
	c.send("CLIENT TRACKING ON", "GET counter")
	c.want("+OK\r\n", "_\r\n")
	link.Fault("PING", 1, redistest.Replace([]byte("+replaced\r\n")))
	server.Pause(t) // so that PING waits for its reply when the push arrives
	c.send("INCR counter", "PING")
	eventually(t, "both are on their way", func() bool { return link.Forwarded("PING") == 1 })
	server.Resume(t)
	pushes, replies := 0, 0
	for range 3 {
		switch reply := c.frame(); {
		case reply.Push && strings.Contains(string(reply.Raw), "invalidate"):
			pushes++
		case string(reply.Raw) == ":1\r\n", string(reply.Raw) == "+replaced\r\n":
			replies++
		default:
			t.Errorf("unexpected frame %q", reply.Raw)
		}
	}
	if pushes != 1 || replies != 2 {
		t.Errorf("%d pushes and %d replies, want 1 and 2", pushes, replies)
	}
}

func TestLink_nestedRepliesPassUnchanged(t *testing.T) {
	server := redistest.Start(t)
	direct := dial(t, server.Addr())
	direct.send(hello)
	direct.frame()
	link, linked := greeted(t, server)
	for _, line := range []string{
		"DEBUG PROTOCOL string", "DEBUG PROTOCOL integer", "DEBUG PROTOCOL double", "DEBUG PROTOCOL null",
		"DEBUG PROTOCOL array", "DEBUG PROTOCOL set", "DEBUG PROTOCOL map", "DEBUG PROTOCOL attrib",
		"DEBUG PROTOCOL verbatim", "DEBUG PROTOCOL bignum", "DEBUG PROTOCOL true", "DEBUG PROTOCOL false",
		"COMMAND DOCS GET SET", "COMMAND INFO GET", "NONSENSE",
	} {
		direct.send(line, "PING end")
		linked.send(line, "PING end")
		want := string(direct.frame().Raw)
		linked.want(want, "$3\r\nend\r\n")
		direct.want("$3\r\nend\r\n")
	}
	link.Fault("COMMAND", 1, redistest.LoseReply())
	linked.send("COMMAND DOCS", "PING")
	linked.wantEnd("", "closed")
}

func TestLink_passesOnWhatIsNotRESPAndCloses(t *testing.T) {
	for _, garbage := range []string{
		"HTTP/1.1 400 Bad Request\r\n\r\n", "*1\r\n*1\r\n?", "$-7\r\n", "$3\r\nabcde", "*-2\r\n", ":1\n", "\x00\xff\xfe",
		"%99999999999999999999\r\n", "*2\r\n>1\r\n+x\r\n", strings.Repeat("*1\r\n", 500),
		"+cut off", "*3\r\n:1\r\n$100\r\nshort",
	} {
		t.Run(garbage[:1], func(t *testing.T) {
			link := redistest.NewLink(t, serve(t, garbage))
			c := dial(t, link.Addr())
			c.send("PING")
			c.wantEnd(garbage, "closed")
		})
	}
}

func TestLink_closesAClientThatSpeaksSomethingElse(t *testing.T) {
	server := redistest.Start(t)
	for _, garbage := range []string{"GET / HTTP/1.1\r\n\r\n", "*1\r\n:1\r\n", "*1\r\n$-1\r\n"} {
		link := redistest.NewLink(t, server.Addr())
		c := dial(t, link.Addr())
		if _, err := io.WriteString(c.conn, garbage); err != nil {
			t.Fatal(err)
		}
		c.wantEnd("", "closed")
		if got := link.Forwarded(""); got != 0 {
			t.Errorf("%q: %d forwarded, want none", garbage, got)
		}
	}
}

// serve answers each connection's first bytes with the given ones, and closes when the client has.
func serve(t *testing.T, answer string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = conn.Read(make([]byte, 1024))
		_, _ = io.WriteString(conn, answer)
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
	}()
	return listener.Addr().String()
}
