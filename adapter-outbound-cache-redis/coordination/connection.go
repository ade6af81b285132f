package coordination

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"
)

// connection is one connection of our own: a go-redis client that is handed one
// established transport, so that it can neither dial again nor retry.
type connection struct {
	wire   *wire
	client *redis.Client

	work    chan struct{} // there is something for its goroutine; closed when the pool drops the connection
	idleAt  time.Time     // owned by the pool, as takenAt
	takenAt time.Time

	// The pool owns the rest while the connection is idle, who runs its calls while it
	// is busy: its goroutine, or a caller alone.
	group []*job
	sent  group
	left  bool // by a caller who ran his call alone: its reply is to be read
}

// spent is what a client gets in place of a transport that it found closed by
// the server at checkout: nothing can be written to it.
func spent() net.Conn {
	end, _ := net.Pipe()
	_ = end.Close()
	return end
}

// sendError is a command that got no readable reply.
type sendError struct {
	written    bool // a byte may have left
	timedOut   bool
	unreadable bool // a reply came, and it is not one
	err        error
}

func (e *sendError) Error() string { return e.err.Error() }
func (e *sendError) Unwrap() error { return e.err }

// dial opens a transport within the dial timeout.
func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	addr := c.config.Addr
	if c.config.Resolve != nil {
		resolved, err := c.config.Resolve(ctx)
		if err != nil {
			return nil, fmt.Errorf("resolve the coordination Redis: %w", err)
		}
		addr = resolved
	}
	var dialer net.Dialer
	transport, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil || c.config.TLS == nil {
		return transport, err
	}
	settings := c.config.TLS.Clone()
	if settings.ServerName == "" {
		settings.ServerName, _, _ = net.SplitHostPort(addr)
	}
	encrypted := tls.Client(transport, settings)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		_ = transport.Close()
		return nil, fmt.Errorf("TLS with the coordination Redis: %w", err)
	}
	return encrypted, nil
}

// newConnection hands transport to a client of its own.
func (c *Client) newConnection(transport net.Conn) *connection {
	protocol := c.config.Protocol
	if protocol == 0 {
		protocol = 2
	}
	w := &wire{Conn: transport}
	handed := net.Conn(w)
	if socket, ok := quietSocket(transport, protocol); ok {
		w.peek.at(socket)
		handed = watchedWire{wire: w, socket: socket}
	}
	client := redis.NewClient(&redis.Options{
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			once := handed
			handed = spent()
			return once, nil
		},
		Protocol: protocol, Username: c.config.Username, Password: c.config.Password, DB: c.config.Database,
		MaxRetries: -1, DialerRetries: 1, PoolSize: 1, PipelinePoolSize: -1, ConnMaxIdleTime: -1,
		ReadTimeout: noTimeout, WriteTimeout: noTimeout, // the wire bounds both
		ReadBufferSize: bufferBytes, WriteBufferSize: bufferBytes,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	return &connection{wire: w, client: client, work: make(chan struct{}, 1)}
}

// quietSocket is the socket under transport, if nothing but its end can arrive on
// it while no command is under way. That does not hold of RESP3 over TLS: the
// client would take any encrypted byte for a push and wait for the rest.
func quietSocket(transport net.Conn, protocol int) (syscall.Conn, bool) {
	if encrypted, ok := transport.(*tls.Conn); ok && protocol == 2 {
		transport = encrypted.NetConn()
	}
	socket, ok := transport.(*net.TCPConn)
	return socket, ok
}

const (
	noTimeout   = 24 * time.Hour
	bufferBytes = 4096
)

// send writes one command and reads its raw reply, within timeout and limit
// bytes. The error is a *sendError, after which the connection must be closed,
// or a redis.Error of the handshake that the first command of a connection
// brings about.
func (cn *connection) send(timeout time.Duration, limit int, args []any) ([]byte, error) {
	buffer := reply.Buffer{Limit: limit}
	cmd := redis.NewRawWriteToCmd(context.Background(), &buffer, args...)
	cn.wire.begin(timeout)
	err := cn.client.Process(context.Background(), cmd)
	if err == nil {
		return buffer.Bytes(), nil
	}
	var refused redis.Error
	if errors.As(err, &refused) {
		return nil, err
	}
	return nil, &sendError{
		written: cn.wire.written, timedOut: cn.wire.timedOut(),
		unreadable: cn.wire.written && cn.wire.failed == nil, err: err,
	}
}

// errShortDeadline says that the caller has less time left than a command may
// take.
var errShortDeadline = errors.New("less time is left than one command may take")

// callSender sends the commands of one call to a node that its slot is still coming
// to, each after ASKING and only while the call's terms leave time for it.
type callSender struct {
	connection *connection
	terms      terms
}

// Send implements executor.Sender.
func (s callSender) Send(ctx context.Context, args []any) ([]byte, error) {
	if !s.terms.leaveTime(ctx) {
		return nil, errShortDeadline
	}
	if refused, err := s.ask(ctx); refused != nil || err != nil {
		return refused, err
	}
	return s.connection.send(s.terms.timeout(), 0, args)
}

// unsent tells whether a call ended because its connection was found closed
// before anything was written.
func unsent(r certainty.Result) bool {
	var failed *sendError
	return errors.As(r.Err, &failed) && !failed.written
}

// resultOf tells how far a call got that ended with raw and err.
func resultOf(raw []byte, err error) certainty.Result {
	var failed *sendError
	switch {
	case err == nil:
		return certainty.Result{Fate: certainty.Answered, Raw: raw}
	case errors.Is(err, errShortDeadline):
		return certainty.Result{Fate: certainty.Refused, Refusal: certainty.Deadline, Err: err}
	case errors.As(err, &failed) && !failed.written:
		return certainty.Result{Fate: certainty.Refused, Refusal: certainty.Unreachable, Err: err}
	case errors.As(err, &failed) && failed.unreadable:
		return certainty.Result{Fate: certainty.Answered, Err: err}
	case errors.As(err, &failed):
		return certainty.Result{Fate: certainty.Unanswered, TimedOut: failed.timedOut, Err: err}
	default:
		return certainty.Result{Fate: certainty.Unanswered, Err: err}
	}
}
