package coordination

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
)

const (
	warmConnections = 8                // opened ahead of need
	concurrentDials = 16               // at most, on behalf of callers
	spareLife       = 60 * time.Second // of an unused connection above the warm ones
)

// refusal is a call that was refused before anything was written.
type refusal struct {
	why certainty.Refusal
	err error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

var (
	errBusy    = &refusal{certainty.Overloaded, errors.New("every place in flight is taken")}
	errDialing = &refusal{certainty.Dialing, errors.New("a connection is still being opened")}
	errClosed  = &refusal{certainty.Unreachable, errors.New("the coordination client is closed")}
)

// pool holds the connections and hands each to one caller at a time. A place in
// flight is a connection: size bounds both.
type pool struct {
	size int
	// open dials one connection, verified and ready.
	open func() (*connection, *refusal)
	// unheard is told of a failed dial that nobody in line heard of.
	unheard func(*refusal)

	mu      sync.Mutex
	idle    []*connection // the last one in is the first one out
	waiting []*waiter     // in order of arrival
	opened  int           // idle and busy connections
	dialing int
	refused *refusal // the server's standing refusal; nil when there is none
	closed  bool
	tasks   sync.WaitGroup // dials and connections
}

// waiter is one caller in line; it receives at most one grant.
type waiter struct{ grant chan grant }

type grant struct {
	connection *connection
	refusal    *refusal
}

// acquire takes a connection, waiting for one until the given time.
func (p *pool) acquire(ctx context.Context, until time.Time) (*connection, *refusal) {
	p.mu.Lock()
	switch {
	case p.closed:
		p.mu.Unlock()
		return nil, errClosed
	case len(p.idle) > 0:
		last := len(p.idle) - 1
		cn := p.idle[last]
		p.idle = p.idle[:last]
		p.mu.Unlock()
		return cn, nil
	case p.refused != nil && p.opened == 0:
		defer p.mu.Unlock()
		return nil, p.refused
	}
	w := &waiter{grant: make(chan grant, 1)}
	p.waiting = append(p.waiting, w)
	p.dialForWaiters()
	p.mu.Unlock()

	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case g := <-w.grant:
		return g.connection, g.refusal
	case <-timer.C:
	case <-ctx.Done():
	}
	return p.leave(w)
}

// leave takes w out of line, unless it was granted something meanwhile.
func (p *pool) leave(w *waiter) (*connection, *refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case g := <-w.grant:
		return g.connection, g.refusal
	default:
	}
	if i := slices.Index(p.waiting, w); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
	if p.dialing > 0 || p.opened < p.size {
		return nil, errDialing
	}
	return nil, errBusy
}

// dialForWaiters starts as many dials as the waiters need and the bounds allow.
func (p *pool) dialForWaiters() {
	for p.dialing < len(p.waiting) && p.dialing < concurrentDials && p.opened+p.dialing < p.size && !p.closed {
		p.startDial()
	}
}

func (p *pool) startDial() {
	p.dialing++
	p.tasks.Go(func() {
		cn, refused := p.open()
		if heard := p.dialed(cn, refused); !heard {
			p.unheard(refused)
		}
	})
}

// dialed takes in a finished dial. What the server itself answered fails
// everybody in line; a dial that broke fails the first, and the others get dials
// of their own: one connection that is cut must not cost more than one caller.
// It answers false if the dial failed and nobody was in line.
func (p *pool) dialed(cn *connection, refused *refusal) (heard bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.dialForWaiters()
	p.dialing--
	p.stand(refused)
	if refused == nil {
		p.opened++
		p.put(cn)
		return true
	}
	failed := p.waiting
	if refused.why == certainty.Unreachable {
		failed = failed[:min(1, len(failed))]
	}
	for _, w := range failed {
		w.grant <- grant{refusal: refused}
	}
	p.waiting = p.waiting[len(failed):]
	return len(failed) > 0
}

// stand keeps a refusal that only the operator can lift, so that callers need
// not dial to learn it.
func (p *pool) stand(refused *refusal) {
	p.refused = nil
	if refused != nil && (refused.why == certainty.Credentials || refused.why == certainty.Program) {
		p.refused = refused
	}
}

// learn takes in what another connection to the same server found.
func (p *pool) learn(refused *refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stand(refused)
}

// put gives cn to the first in line, or keeps it.
func (p *pool) put(cn *connection) {
	switch {
	case p.closed:
		p.drop(cn)
	case len(p.waiting) > 0:
		w := p.waiting[0]
		p.waiting = p.waiting[1:]
		w.grant <- grant{connection: cn}
	default:
		cn.idleAt = time.Now()
		p.idle = append(p.idle, cn)
	}
}

// drop ends a connection that nobody holds.
func (p *pool) drop(cn *connection) {
	p.opened--
	close(cn.jobs)
}

// release takes back a connection, usable or not.
func (p *pool) release(cn *connection, usable bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if usable {
		p.put(cn)
		return
	}
	p.drop(cn)
	p.dialForWaiters()
}

// warm opens connections ahead of need.
func (p *pool) warm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.opened+p.dialing < min(p.size, warmConnections) && !p.closed {
		p.startDial()
	}
}

// trim ends connections above the warm ones that were not used for a while.
func (p *pool) trim(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle) > 0 && p.opened > warmConnections && now.Sub(p.idle[0].idleAt) > spareLife {
		p.drop(p.idle[0])
		p.idle = p.idle[1:]
	}
}

// close refuses everybody in line and all who come, ends idle connections, and
// waits for busy ones and for dials.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	for _, w := range p.waiting {
		w.grant <- grant{refusal: errClosed}
	}
	p.waiting = nil
	for _, cn := range p.idle {
		p.drop(cn)
	}
	p.idle = nil
	p.mu.Unlock()
	p.tasks.Wait()
}

// Stats counts connections and callers at one moment.
type Stats struct {
	Open    int // connections, idle or busy
	Idle    int
	Dialing int
	Waiting int // callers in line for a connection
}

// InFlight is how many commands are at Redis.
func (s Stats) InFlight() int { return s.Open - s.Idle }

func (p *pool) stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{Open: p.opened, Idle: len(p.idle), Dialing: p.dialing, Waiting: len(p.waiting)}
}
