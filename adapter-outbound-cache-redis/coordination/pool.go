package coordination

import (
	"errors"
	"slices"
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
	errBusy    = &refusal{certainty.Overloaded, errors.New("no connection took the call in time")}
	errDialing = &refusal{certainty.Dialing, errors.New("a connection is still being opened")}
	errClosed  = &refusal{certainty.Unreachable, errors.New("the coordination client is closed")}
)

// pool holds the connections and hands calls to them in groups: a free connection
// takes what waits in line, as many as there are places in flight. Few connections
// are busy at once, so that groups are large under load, unless a call has waited
// long: then one more serves, and a connection that stalls keeps nobody in line.
type pool struct {
	size int // places in flight, and so the most connections
	// open dials one connection, verified and ready.
	open func() (*connection, *refusal)
	// unheard is told of a failed dial that nobody in line heard of.
	unheard func(*refusal)

	mu       sync.Mutex
	idle     []*connection // the last one in is the first one out
	busy     []*connection // in the order in which they were taken
	line     line          // calls that wait for a connection, in order of arrival
	inFlight int           // calls that connections hold
	opened   int           // idle and busy connections
	dialing  int
	refused  *refusal // why the server takes no new connection; nil while it does
	barred   *refusal // why no call may go out, whatever is open; nil while it may
	closed   bool
	tasks    sync.WaitGroup // dials and connections
}

const (
	lanes        = 2                     // connections that are busy at once, if none stalls
	longestGroup = 128                   // calls; fewer if that leaves too few places to others
	stallAfter   = 10 * time.Millisecond // in line, or half of a shorter wait
)

// submit puts j in line, unless a connection is free: that one then is the caller's
// to run j on.
func (p *pool) submit(j *job) (free *connection, refused *refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return nil, errClosed
	case p.barred != nil:
		return nil, p.barred
	case p.refused != nil && p.opened == 0:
		return nil, p.refused
	}
	p.line.add(j)
	if len(p.idle) > 0 && p.due() && p.line.length == 1 && !j.call.asking {
		return p.take(), nil
	}
	p.serveLine()
	return nil, nil
}

// take takes an idle connection and gives it the group that waits.
func (p *pool) take() *connection {
	last := len(p.idle) - 1
	cn := p.idle[last]
	p.idle = p.idle[:last]
	cn.takenAt = time.Now()
	p.busy = append(p.busy, cn)
	for p.line.first != nil && p.inFlight < p.size && len(cn.group) < p.groupSize() {
		j := p.line.first
		if j.call.asking && len(cn.group) > 0 {
			break
		}
		p.line.remove(j)
		p.inFlight++
		cn.group = append(cn.group, j)
		if j.call.asking { // it goes by itself
			break
		}
	}
	return cn
}

// groupSize bounds a group, so that a connection that stalls leaves places to others.
func (p *pool) groupSize() int { return min(longestGroup, max(1, p.size/(2*lanes))) }

// hurry has a call that has waited long served by one more connection.
func (p *pool) hurry(j *job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if j.inLine {
		p.line.first.stalled = true
		p.serveLine()
	}
}

// leave takes j out of line and says why it waited in vain; nil if a connection has
// it or it was refused meanwhile.
func (p *pool) leave(j *job) *refusal {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !j.inLine {
		return nil
	}
	p.line.remove(j)
	if p.inFlight < p.size && (p.dialing > 0 || p.opened < p.size && len(p.idle) == 0) {
		return errDialing
	}
	return errBusy
}

// serveLine hands groups to idle connections as long as calls are due, and dials
// for those that are.
func (p *pool) serveLine() {
	for len(p.idle) > 0 && p.due() {
		p.take().work <- struct{}{}
	}
	p.dialForLine()
}

// due tells whether one more connection is to serve the line. One that has been busy
// for long is none of the lanes.
func (p *pool) due() bool {
	first := p.line.first
	if first == nil || p.inFlight >= p.size {
		return false
	}
	return first.stalled || len(p.busy) < lanes || time.Since(p.busy[len(p.busy)-lanes].takenAt) > stallAfter
}

// refuse ends the wait of the first in line; it answers false if nobody is.
func (p *pool) refuse(why *refusal) bool {
	j := p.line.first
	if j == nil {
		return false
	}
	p.line.remove(j)
	j.done <- certainty.Result{Fate: certainty.Refused, Refusal: why.why, Err: why.err}
	return true
}

// dialForLine starts the dials that the line needs and the bounds allow, unless the
// server is known to refuse them. Without a connection each call in line has one
// dialled.
func (p *pool) dialForLine() {
	for p.refused == nil && !p.closed && p.opened+p.dialing < p.size && p.dialing < concurrentDials && p.lacks() {
		p.startDial()
	}
}

func (p *pool) lacks() bool {
	switch {
	case p.opened == 0:
		return p.dialing < p.line.length
	case len(p.idle) > 0 || p.dialing > 0:
		return false
	default:
		return p.due()
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
		heard = p.refuse(refused)
		for refused.why != certainty.Unreachable && p.refuse(refused) {
			continue
		}
	}
	p.dialForLine()
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

// put keeps cn, unless the line needs it.
func (p *pool) put(cn *connection) {
	if p.closed {
		p.drop(cn)
		return
	}
	cn.idleAt = time.Now()
	p.idle = append(p.idle, cn)
	p.serveLine()
}

// drop ends a connection that nobody holds.
func (p *pool) drop(cn *connection) {
	p.opened--
	close(cn.work)
}

// release takes back a connection whose group has ended, usable or not, and gives it
// the next group if one waits.
func (p *pool) release(cn *connection, usable bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy = slices.DeleteFunc(p.busy, func(other *connection) bool { return other == cn })
	p.inFlight -= len(cn.group)
	clear(cn.group)
	cn.group = cn.group[:0]
	if !usable {
		p.drop(cn)
		p.serveLine()
		return
	}
	p.put(cn)
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
	for p.refuse(errClosed) {
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
	Open     int // connections, idle or busy
	Idle     int
	Dialing  int
	InFlight int // calls that connections hold
	Waiting  int // calls in line for a connection

	// Resharding is of a Cluster alone, since it was opened.
	Resharding Resharding
}

func (p *pool) stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{Open: p.opened, Idle: len(p.idle), Dialing: p.dialing, InFlight: p.inFlight, Waiting: p.line.length}
}
