package redistest

import (
	"bufio"
	"io"
	"net"
	"sync"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest/internal/frame"
)

const deliveryQueue = 1024

// conn is one client's connection and the connection to the server that belongs to it.
type conn struct {
	link       *Link
	client     *net.TCPConn
	clientOnce sync.Once
	gone       chan struct{} // closed with the client's connection
	deliveries chan delivery

	lost bool // guarded by link.mu: a black hole took something

	mu      sync.Mutex
	server  net.Conn // nil until dialled
	pending []Fault  // of the requests forwarded and not yet answered, oldest first
}

// delivery is a frame on its way to the client.
type delivery struct {
	frame []byte
	fault Fault
	due   <-chan time.Time // nil: now
}

func newConn(l *Link, client *net.TCPConn) *conn {
	return &conn{
		link:       l,
		client:     client,
		gone:       make(chan struct{}),
		deliveries: make(chan delivery, deliveryQueue),
	}
}

// serve ends when both connections are closed. The one to the server is only half closed until the server has closed
// it too: a reset could overtake requests that the server has not read yet.
func (c *conn) serve() {
	defer c.forget()
	defer c.closeClient()
	if c.link.ctx.Err() != nil {
		return
	}
	if c.link.takes(c) || !c.dial() {
		_, _ = io.Copy(io.Discard, c.client)
		return
	}
	defer c.closeServer()
	var replies sync.WaitGroup
	replies.Go(c.receive)
	replies.Go(c.deliver)
	c.requests()
	c.closeClient()
	_ = c.server.(*net.TCPConn).CloseWrite()
	replies.Wait()
}

func (c *conn) dial() bool {
	var dialer net.Dialer
	server, err := dialer.DialContext(c.link.ctx, "tcp", c.link.target)
	if err != nil {
		if !c.link.takes(c) {
			c.resetClient()
		}
		return false
	}
	c.mu.Lock()
	c.server = server
	c.mu.Unlock()
	// The link's cleanup may have looked for a server connection before there was one.
	if c.link.ctx.Err() != nil {
		c.closeServer()
	}
	return true
}

// requests passes on what the client sends, until it closes or a fault ends the connection.
func (c *conn) requests() {
	r := bufio.NewReader(c.client)
	for {
		request, err := frame.ReadRequest(r)
		if err != nil {
			return
		}
		f := c.link.meet(c, request.Name)
		switch f.act {
		case swallow:
			_, _ = io.Copy(io.Discard, r)
			return
		case resetBefore:
			c.resetClient()
			return
		}
		c.expect(f)
		// A server that has gone shows in receive, which decides what the client sees of it.
		_, _ = c.server.Write(request.Raw)
	}
}

// receive reads replies as they arrive, so that delays count from the arrival. An end within a frame passes on what
// there is of it.
func (c *conn) receive() {
	defer close(c.deliveries)
	r := bufio.NewReader(c.server)
	for {
		reply, err := frame.ReadReply(r)
		d := delivery{frame: reply.Raw}
		if err == nil && !reply.Push {
			d.fault = c.answered()
		}
		if d.fault.act == delay {
			d.due = time.After(d.fault.late)
		}
		c.deliveries <- d
		if err != nil {
			return
		}
	}
}

// deliver takes every delivery, so that receive never waits for a client that has gone or may hear nothing more. The
// last one, empty or cut off, is the end of the server's connection, which a mute client does not hear of either.
func (c *conn) deliver() {
	mute := false
	for d := range c.deliveries {
		if d.due != nil {
			select {
			case <-d.due:
			case <-c.gone:
			}
		}
		mute = mute || c.hand(d) == quiet
	}
	if !mute {
		c.closeClient()
	}
}

// hearing is whether a client may hear more on a connection.
type hearing uint8

const (
	audible hearing = iota
	quiet
)

func (c *conn) hand(d delivery) hearing {
	if c.closed() || c.link.takes(c) {
		return quiet
	}
	switch d.fault.act {
	case silence:
		return quiet
	case loseReply:
		c.closeClient()
		return quiet
	case halfReply:
		_, _ = c.client.Write(d.frame[:len(d.frame)/2])
		c.closeClient()
		return quiet
	case resetAfter:
		c.resetClient()
		return quiet
	case replace:
		_, _ = c.client.Write(d.fault.reply)
		return audible
	}
	_, _ = c.client.Write(d.frame)
	return audible
}

func (c *conn) closed() bool {
	select {
	case <-c.gone:
		return true
	default:
		return false
	}
}

func (c *conn) expect(f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = append(c.pending, f)
}

// answered is the fault of the oldest request without an answer; a reply that nobody asked for meets none.
func (c *conn) answered() Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) == 0 {
		return Pass()
	}
	f := c.pending[0]
	c.pending = c.pending[1:]
	return f
}

// closeClient counts before it closes, so that a client that sees the end finds itself counted out.
func (c *conn) closeClient() {
	c.clientOnce.Do(func() {
		close(c.gone)
		c.link.mu.Lock()
		c.link.open--
		c.link.mu.Unlock()
		_ = c.client.Close()
	})
}

func (c *conn) resetClient() {
	_ = c.client.SetLinger(0)
	c.closeClient()
}

func (c *conn) closeServer() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server != nil {
		_ = c.server.Close()
	}
}

func (c *conn) forget() {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	delete(c.link.conns, c)
}
