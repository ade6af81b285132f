package coordination

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
)

const (
	fewestWarm      = 8                // connections opened ahead of need
	mostWarm        = 32               // of a pool large enough that they are a small part of it
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

// standing tells whether waiting alone will not lift r; nil is no refusal.
func (r *refusal) standing() bool {
	return r != nil && (r.why == certainty.Credentials || r.why == certainty.Program)
}

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
	waiting list.List     // of waiter, in order of arrival
	opened  int           // idle and busy connections
	dialing int
	refused *refusal // why the server takes no new connection; nil while it does
	barred  *refusal // why no call may go out, whatever is open; nil while it may
	closed  bool
	tasks   sync.WaitGroup // dials and connections
}

// waiter is one caller in line: it takes one grant, and at most one is given.
type waiter chan grant

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
	case p.barred != nil:
		defer p.mu.Unlock()
		return nil, p.barred
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
	w := make(waiter, 1)
	place := p.waiting.PushBack(w)
	p.dialForWaiters()
	p.mu.Unlock()

	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case g := <-w:
		return g.connection, g.refusal
	case <-timer.C:
	case <-ctx.Done():
	}
	return p.leave(place)
}

// leave takes a waiter out of line, unless it was granted something meanwhile.
func (p *pool) leave(place *list.Element) (*connection, *refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case g := <-place.Value.(waiter):
		return g.connection, g.refusal
	default:
	}
	p.waiting.Remove(place)
	if p.dialing > 0 || p.opened < p.size {
		return nil, errDialing
	}
	return nil, errBusy
}

// next gives g to the first in line; it answers false if nobody is.
func (p *pool) next(g grant) bool {
	first := p.waiting.Front()
	if first == nil {
		return false
	}
	p.waiting.Remove(first).(waiter) <- g
	return true
}

// dialForWaiters starts as many dials as the waiters need and the bounds allow,
// unless the server is known to refuse them.
func (p *pool) dialForWaiters() {
	for p.refused == nil && p.dialing < p.waiting.Len() && p.dialing < concurrentDials && p.opened+p.dialing < p.size && !p.closed {
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

// dialed takes in a finished dial. A failed one leaves the line waiting for the
// connections that are open. If there is none, what the server itself answered
// fails everybody in line; a dial that broke fails the first, and the others get
// dials of their own: one that is cut must not cost more than one caller. It
// answers false if the dial failed and nobody in line was told.
func (p *pool) dialed(cn *connection, refused *refusal) (heard bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dialing--
	p.stand(refused)
	switch {
	case refused == nil:
		p.opened++
		p.put(cn)
		heard = true
	case p.opened > 0:
		return false
	default:
		heard = p.next(grant{refusal: refused})
		for refused.why != certainty.Unreachable && p.next(grant{refusal: refused}) {
			continue
		}
	}
	p.dialForWaiters()
	return heard
}

// stand keeps a refusal that only the operator can lift, so that callers need
// not dial to learn it.
func (p *pool) stand(refused *refusal) {
	p.refused = nil
	if refused.standing() {
		p.refused = refused
	}
}

// learn takes in what a look at the server found: whether it takes connections,
// and whether it still lets this client do what calls do.
func (p *pool) learn(refused, barred *refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stand(refused)
	p.barred = nil
	if barred.standing() {
		p.barred = barred
	}
}

// refuses tells whether the server is known to take no new connection.
func (p *pool) refuses() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused != nil
}

// put gives cn to the first in line, or keeps it.
func (p *pool) put(cn *connection) {
	switch {
	case p.closed:
		p.drop(cn)
	case p.next(grant{connection: cn}):
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

// warmSize is how many connections are kept ahead of need, so that a burst after a
// quiet time does not wait for dials.
func (p *pool) warmSize() int { return min(p.size, max(fewestWarm, min(mostWarm, p.size/16))) }

// warm opens connections ahead of need.
func (p *pool) warm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.opened+p.dialing < p.warmSize() && !p.closed {
		p.startDial()
	}
}

// trim ends connections above the warm ones that were not used for a while.
func (p *pool) trim(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle) > 0 && p.opened > p.warmSize() && now.Sub(p.idle[0].idleAt) > spareLife {
		p.drop(p.idle[0])
		p.idle = p.idle[1:]
	}
}

// close refuses everybody in line and all who come, ends idle connections, and
// waits for busy ones and for dials.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	for p.next(grant{refusal: errClosed}) {
		continue
	}
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

	// Resharding is of a Cluster alone, since it was opened.
	Resharding Resharding
}

// InFlight is how many commands are at Redis.
func (s Stats) InFlight() int { return s.Open - s.Idle }

func (p *pool) stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{Open: p.opened, Idle: len(p.idle), Dialing: p.dialing, Waiting: p.waiting.Len()}
}
