package coordination

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
)

// Verifier checks, over one connection, that the server lets this client do all
// that its calls do. It sends at most one command at a time through s.
type Verifier interface {
	Verify(ctx context.Context, s Sender) error
	// ProbeKey is a key that the client may read with TYPE at any time.
	ProbeKey() string
}

// Sender sends one command and reads one raw reply, at most once each.
type Sender interface {
	Send(ctx context.Context, args []any) (raw []byte, err error)
}

// RefusedError is a Verifier's word that the server refuses what the client
// needs. Its code says what that proves.
type RefusedError struct {
	Code string // the server's error code, such as NOPERM
	Need string // what is missing and what to do, for the operator
}

// Error implements error.
func (e *RefusedError) Error() string { return e.Need }

// Client is the dedicated connection. It is safe for concurrent use. Make one
// with Open, and Close it.
type Client struct {
	config   Config
	verifier Verifier
	logger   *slog.Logger
	pool     *pool
	breaker  atomic.Pointer[breaker]

	context   context.Context // ends with Close
	cancel    context.CancelFunc
	monitored sync.WaitGroup
	closing   sync.Once

	probing   atomic.Bool // the breaker is half-open
	doubted   atomic.Bool // an answer puts version, rights or password in doubt
	verified  atomic.Bool // version and rights have passed once
	apart     atomic.Bool // the server has slots: no batches
	verifying sync.Mutex
	health    atomic.Pointer[Health]
	attempted chan struct{} // closed after the first attempt to connect
}

// Open starts a client. It returns at once: if Redis is away the client lives,
// is not ready, and connects when Redis comes. No call is sent before verifier
// has passed once.
func Open(config Config, verifier Verifier) (*Client, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	logger := config.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	c := &Client{config: config, verifier: verifier, logger: logger, attempted: make(chan struct{})}
	c.context, c.cancel = context.WithCancel(context.Background())
	c.pool = &pool{size: config.MaxInFlight, open: c.openPooled, unheard: c.countFailedDial}
	c.breaker.Store(c.newBreaker())
	c.health.Store(&Health{Problems: []string{"no connection yet"}})
	c.monitored.Go(c.monitor)
	return c, nil
}

// breaker refuses calls while the server fails.
type breaker = gobreaker.TwoStepCircuitBreaker[struct{}]

func (c *Client) newBreaker() *breaker {
	config := c.config
	return gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout:     config.BreakerProbeEvery,
		ReadyToTrip: func(n gobreaker.Counts) bool { return int(n.ConsecutiveFailures) >= config.BreakerFailures },
		IsExcluded:  func(err error) bool { return err == errSilent },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			c.logger.Warn("coordination breaker", "from", from.String(), "to", to.String())
			c.probing.Store(to == gobreaker.StateHalfOpen)
			if to == gobreaker.StateClosed {
				c.pool.warm()
			}
		},
	})
}

// forgive closes a breaker that is not, by a new one.
func (c *Client) forgive() {
	if state := c.breaker.Load().State(); state != gobreaker.StateClosed {
		c.logger.Info("coordination breaker", "from", state.String(), "to", gobreaker.StateClosed.String())
		c.breaker.Store(c.newBreaker())
		c.probing.Store(false)
	}
}

// Close ends every connection and waits for them; commands in flight run to
// their end, at most the command timeout. Calls after Close are refused. Close
// may be called more than once and from several goroutines.
func (c *Client) Close() error {
	c.closing.Do(func() {
		c.cancel()
		c.pool.close()
	})
	c.monitored.Wait()
	c.pool.tasks.Wait()
	return nil
}

// Budget is [Config.Budget].
func (c *Client) Budget() time.Duration { return c.config.Budget() }

// Stats counts connections and callers.
func (c *Client) Stats() Stats { return c.pool.stats() }

// openPooled opens a connection for the pool and starts its goroutine.
func (c *Client) openPooled() (*connection, *refusal) {
	cn, _, refused := c.connect()
	if refused == nil {
		refused = c.verifyOnce(cn)
	}
	if refused != nil {
		cn.close()
		return nil, refused
	}
	c.pool.tasks.Go(func() { c.serve(cn) })
	return cn, nil
}

// connect dials, shakes hands, and checks the version. The connection is nil if
// refused.
func (c *Client) connect() (*connection, server, *refusal) {
	ctx, cancel := context.WithTimeout(c.context, c.config.DialTimeout)
	defer cancel()
	transport, err := c.dial(ctx)
	if err != nil {
		return nil, server{}, &refusal{certainty.Unreachable, fmt.Errorf("dial the coordination Redis: %w", err)}
	}
	cn := c.newConnection(transport)
	// Close must not wait for a handshake that hangs.
	stop := context.AfterFunc(c.context, func() { _ = transport.Close() })
	defer stop()
	found, refused := c.shakeHands(ctx, cn)
	if refused != nil {
		cn.close()
		_ = transport.Close()
		return nil, found, refused
	}
	return cn, found, nil
}

// close ends cn; a nil connection is closed already.
func (cn *connection) close() {
	if cn != nil {
		_ = cn.client.Close()
	}
}

func (c *Client) shakeHands(ctx context.Context, cn *connection) (server, *refusal) {
	deadline, _ := ctx.Deadline()
	found, err := hello(cn, time.Until(deadline))
	if busy := full(cn); busy != nil {
		err = busy
	}
	if err != nil {
		return found, handshakeRefusal(err)
	}
	if found.known && found.version.Before(program.MinRedis) {
		return found, &refusal{certainty.Program, fmt.Errorf(
			"the coordination Redis is version %s; the programs need %s or newer", found.version, program.MinRedis)}
	}
	return found, nil
}

// verifyOnce runs the verifier until it has passed once; connections that open
// meanwhile wait for the one that asks.
func (c *Client) verifyOnce(cn *connection) *refusal {
	if c.verified.Load() {
		return nil
	}
	c.verifying.Lock()
	defer c.verifying.Unlock()
	if c.verified.Load() {
		return nil
	}
	return c.verify(cn)
}

func (c *Client) verify(cn *connection) *refusal {
	stop := context.AfterFunc(c.context, func() { _ = cn.wire.Close() })
	defer stop()
	sender := handshakeSender{cn, time.Now().Add(c.config.DialTimeout)}
	if err := c.verifier.Verify(c.context, sender); err != nil {
		return handshakeRefusal(err)
	}
	c.verified.Store(true)
	return nil
}

// handshakeSender sends the commands that belong to opening a connection, all of
// them until one time.
type handshakeSender struct {
	connection *connection
	until      time.Time
}

// Send implements Sender.
func (s handshakeSender) Send(_ context.Context, args []any) ([]byte, error) {
	return s.connection.send(time.Until(s.until), 0, args)
}
