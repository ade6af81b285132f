package coordination

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"
)

// Health says whether calls can be served, and if not, what is missing.
type Health struct {
	Ready    bool
	Version  string   // the server's, or "" where it could not be read
	RunID    string   // of the server's present run, likewise; "" of a cluster
	Problems []string // what is missing; empty when ready
	Warnings []string // what is unwise, or could not be read
	Refused  bool     // the server was reached and refuses: waiting alone will not help
}

// Together these keep the promise that a server which stops answering shows in
// Health within a second.
const (
	watchEvery   = 250 * time.Millisecond
	watchTimeout = 500 * time.Millisecond
)

const (
	asksPerLook = 2 // commands that a look sends, one after the other
	slowLooks   = 3 // in a row that are too slow for calls: not ready
)

const (
	lookEvery  = 30 * time.Second
	factsBytes = 64 << 10
)

// Health is the latest state known; it never waits.
func (c *Client) Health() Health { return *c.health.Load() }

// Breaker is closed, half-open or open.
func (c *Client) Breaker() string { return c.breaker.Load().State().String() }

// AwaitFirstAttempt waits until the client has tried once to connect. It returns
// an error if the server was reached and refuses version, rights or password;
// nil if it passed, or is away and may come.
func (c *Client) AwaitFirstAttempt(ctx context.Context) error {
	select {
	case <-c.attempted:
	case <-c.context.Done():
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	if health := c.Health(); health.Refused {
		return fmt.Errorf("the coordination Redis refuses: %s", strings.Join(health.Problems, "; "))
	}
	return nil
}

// monitor keeps one connection of its own, and with it the state of health.
func (c *Client) monitor() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	defer c.health.Store(&Health{Problems: []string{errClosed.Error()}})
	for first := true; c.context.Err() == nil; first = false {
		cn, facts, refused := c.look()
		if first {
			close(c.attempted)
		}
		if refused == nil {
			c.watch(cn, facts, tick)
		}
		cn.close()
		if refused != nil {
			c.pause(tick)
		}
	}
}

// facts are what a look finds out about the server and what does not change before
// the next one.
type facts struct {
	runID    string
	warnings []string // what is unwise about it
}

// look connects, checks version and rights anew, and sets health accordingly. The
// connection is nil if there is none.
func (c *Client) look() (*connection, facts, *refusal) {
	c.doubted.Store(false)
	cn, found, refused := c.connect()
	var barred *refusal
	if refused == nil {
		barred = c.verify(cn)
	}
	if c.verified.Load() && barred.redirects() {
		barred = nil
	}
	c.pool.learn(refused, barred)
	if refused == nil {
		refused = barred
	}
	if refused != nil {
		c.setHealth(Health{Problems: []string{refused.Error()}, Refused: refused.standing()})
		return cn, facts{}, refused
	}
	c.pool.warm()
	learnt, err := c.facts(cn)
	if err != nil {
		refused = handshakeRefusal(err)
		c.setHealth(Health{Problems: []string{refused.Error()}})
		return cn, facts{}, refused
	}
	c.setHealth(healthOf(found, learnt))
	if c.config.node && c.config.EveryFailure {
		c.forgive()
	}
	return cn, learnt, nil
}

// watch asks the server on every tick, until it fails to answer or it is time for
// another look: what it allows is in doubt, it is no longer the master, or a while
// has passed.
func (c *Client) watch(cn *connection, learnt facts, tick *time.Ticker) {
	stop := context.AfterFunc(c.context, func() { _ = cn.wire.Close() })
	defer stop()
	for begun, slow := time.Now(), 0; c.pause(tick); {
		asked := time.Now()
		found, err := c.ask(cn)
		if err != nil {
			if !closedByServer(err) { // a new connection tells more
				c.setHealth(Health{Problems: []string{fmt.Sprintf("the coordination Redis does not serve: %v", err)}})
			}
			return
		}
		if slow++; time.Since(asked) < asksPerLook*c.config.CommandTimeout {
			slow = 0
		}
		health := healthOf(found, learnt)
		if slow >= slowLooks {
			health.Ready = false
			health.Problems = append(health.Problems, fmt.Sprintf(
				"the coordination Redis takes longer than the command timeout of %v to answer", c.config.CommandTimeout))
		}
		c.setHealth(health)
		c.pool.trim(time.Now())
		if c.doubted.Load() || c.pool.refuses() || found.replica || time.Since(begun) > lookEvery ||
			found.known && found.version.Before(program.MinRedis) {
			return
		}
	}
}

// closedByServer tells whether a look failed because its connection had ended, and
// not because the server refused it or kept silent.
func closedByServer(err error) bool {
	var failed *sendError
	return errors.As(err, &failed) && !failed.timedOut && !failed.unreadable
}

// ask is one look at the server: who it is, and whether it serves commands.
// HELLO alone would be answered while loading or busy.
func (c *Client) ask(cn *connection) (server, error) {
	found, err := hello(cn, watchTimeout)
	if err != nil {
		return server{}, err
	}
	raw, err := cn.send(watchTimeout, 0, []any{"TYPE", c.verifier.ProbeKey()})
	if err != nil {
		return server{}, err
	}
	if failed, ok := reply.AsServerError(raw); ok && !(c.config.node && redirects(failed.Code)) {
		return server{}, failed
	}
	return found, nil
}

func healthOf(found server, learnt facts) Health {
	h := Health{Ready: true, Version: found.version.String(), RunID: learnt.runID, Warnings: learnt.warnings}
	if !found.known {
		h.Version = ""
		h.Warnings = append(slices.Clone(learnt.warnings), "the server does not tell its version")
	}
	if found.replica {
		h.Ready = false
		h.Problems = []string{"the coordination endpoint is a replica; it must be the master"}
	}
	return h
}

// facts asks the server about itself. What it does not tell is no error.
func (c *Client) facts(cn *connection) (facts, error) {
	runID, err := info(cn, "server", "run_id")
	if err != nil {
		return facts{}, err
	}
	policy, err := info(cn, "memory", "maxmemory_policy")
	if err != nil {
		return facts{}, err
	}
	learnt := facts{runID: runID}
	switch policy {
	case "noeviction":
	case "":
		learnt.warnings = []string{"the eviction policy cannot be read (INFO memory); it must be noeviction"}
	default:
		learnt.warnings = []string{fmt.Sprintf("maxmemory-policy is %s: evicting a key grants its subject a fresh allowance; set noeviction", policy)}
	}
	return learnt, nil
}

// info is a field of a section of INFO, or "" if the server does not tell it.
func info(cn *connection, section, field string) (string, error) {
	raw, err := cn.send(watchTimeout, factsBytes, []any{"INFO", section})
	if err != nil {
		return "", err
	}
	if _, refused := reply.AsServerError(raw); refused {
		return "", nil
	}
	for line := range strings.SplitSeq(string(raw), "\r\n") {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return value, nil
		}
	}
	return "", nil
}

func (c *Client) setHealth(h Health) {
	before := c.health.Swap(&h)
	if before.Ready != h.Ready || !slices.Equal(before.Problems, h.Problems) {
		c.logger.Info("coordination health", "ready", h.Ready, "version", h.Version, "problems", h.Problems)
	}
}

// pause waits for the next tick; it is false once the client is closed.
func (c *Client) pause(tick *time.Ticker) bool {
	select {
	case <-tick.C:
		return true
	case <-c.context.Done():
		return false
	}
}
