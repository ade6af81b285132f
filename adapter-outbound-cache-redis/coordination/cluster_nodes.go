package coordination

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"
)

const (
	slotsEvery   = 10 * time.Second // the map is read anew, in doubt or not
	slotsBytes   = 4 << 20
	askNextAfter = 100 * time.Millisecond
	spareNode    = 10 * time.Second // of a client whose node serves nothing and gets no call
)

// watchSlots keeps the map: it reads it at once, then when it is in doubt, when
// the cluster is not ready, and every now and then.
func (c *Cluster) watchSlots() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for first := true; c.context.Err() == nil; first = false {
		c.stale.Store(false)
		c.lost.Store(c.readSlots())
		if first {
			close(c.attempted)
		}
		c.dropSpare(time.Now())
		for begun := time.Now(); ; {
			select {
			case <-tick.C:
			case <-c.context.Done():
				return
			}
			if c.stale.Load() || time.Since(begun) > slotsEvery || !c.Health().Ready {
				break
			}
		}
	}
}

// awaitSlots waits for the first look at the cluster, no longer than a call waits
// for a connection.
func (c *Cluster) awaitSlots(ctx context.Context, terms terms) *refusal {
	if c.slots.Load() != nil {
		return nil
	}
	timer := time.NewTimer(time.Until(terms.admitUntil))
	defer timer.Stop()
	select {
	case <-c.attempted:
	case <-timer.C:
	case <-ctx.Done():
	}
	if c.slots.Load() != nil {
		return nil
	}
	if lost := c.lost.Load(); lost != nil {
		return lost
	}
	return errDialing
}

// telling is what one node says of the map.
type telling struct {
	addr    string
	slots   *slotMap
	refused *refusal
}

// readSlots asks one node after another for the map until one tells where every
// slot is. If none does, what one told serves: in a failover a node may not have
// heard yet who took over. A node that takes its time does not keep the next one
// from being asked.
func (c *Cluster) readSlots() *refusal {
	var errs []error
	var partly *slotMap
	why := certainty.Unreachable
	left := c.whomToAsk()
	told := make(chan telling, len(left)) // takes all without a reader
	patience := time.NewTicker(askNextAfter)
	defer patience.Stop()
	for pending := 0; len(left) > 0 || pending > 0; {
		if len(left) > 0 {
			addr := left[0]
			left, pending, c.mute[addr] = left[1:], pending+1, true
			c.tasks.Go(func() {
				m, refused := c.slotsOf(addr)
				told <- telling{addr, m, refused}
			})
		}
		select {
		case t := <-told:
			pending--
			if t.refused != nil {
				if t.refused.standing() {
					why = t.refused.why
				}
				errs = append(errs, fmt.Errorf("%s: %w", t.addr, t.refused.err))
				continue
			}
			delete(c.mute, t.addr)
			if _, _, unserved := t.slots.unserved(); unserved == 0 {
				c.learnSlots(t.slots)
				return nil
			}
			partly = t.slots
		case <-patience.C:
		}
	}
	if partly != nil {
		c.learnSlots(partly)
		return nil
	}
	return &refusal{why, fmt.Errorf("no node tells where the slots are: %w", errors.Join(errs...))}
}

// learnSlots takes in a new map. A client that there was before its node had a slot
// was verified without one, and looks again.
func (c *Cluster) learnSlots(m *slotMap) {
	before := c.slots.Swap(m)
	if before == nil || !slices.Equal(before.masters, m.masters) {
		c.logger.Info("coordination cluster", "masters", m.masters)
	}
	for _, master := range m.masters {
		client, refused := c.clientAt(master)
		if refused == nil && before != nil && !slices.Contains(before.masters, master) {
			client.doubted.Store(true)
		}
	}
}

// whomToAsk lists the known nodes and the seeds: first those that serve, last those
// that did not tell when last asked.
func (c *Cluster) whomToAsk() []string {
	var serving, others []string
	c.mu.Lock()
	for addr, n := range c.nodes {
		if n.client.Health().Ready {
			serving = append(serving, addr)
		} else {
			others = append(others, addr)
		}
	}
	c.mu.Unlock()
	all := slices.Concat(serving, c.config.Cluster, others)
	maps.DeleteFunc(c.mute, func(addr string, _ bool) bool { return !slices.Contains(all, addr) })
	var first, last []string
	for _, addr := range all {
		switch {
		case slices.Contains(first, addr) || slices.Contains(last, addr):
		case c.mute[addr]:
			last = append(last, addr)
		default:
			first = append(first, addr)
		}
	}
	return append(first, last...)
}

// slotsOf reads the map as the node at addr knows it, over a connection for that
// alone: no call waits for it.
func (c *Cluster) slotsOf(addr string) (*slotMap, *refusal) {
	config := c.config.at(addr)
	config.Protocol = 2
	cn, _, refused := (&Client{config: config, context: c.context}).connect()
	if refused != nil {
		return nil, refused
	}
	defer cn.close()
	defer context.AfterFunc(c.context, func() { _ = cn.wire.Close() })()
	raw, err := cn.send(config.DialTimeout, slotsBytes, []any{"CLUSTER", "SLOTS"})
	if err != nil {
		return nil, handshakeRefusal(err)
	}
	if failed, ok := reply.AsServerError(raw); ok {
		need := "CLUSTER SLOTS is refused: " + failed.Text
		if certainty.OfServerError(failed.Code) == certainty.Credentials {
			need = fmt.Sprintf("the Redis user may not run CLUSTER SLOTS; grant it (%s)", failed.Text)
		}
		return nil, handshakeRefusal(&RefusedError{Code: failed.Code, Need: need})
	}
	host, _, _ := net.SplitHostPort(addr)
	m, err := readSlots(raw, host)
	if err != nil {
		return nil, &refusal{certainty.Unreachable, err}
	}
	return m, nil
}

// clientAt is the client of the node at addr, made if there is none.
func (c *Cluster) clientAt(addr string) (*Client, *refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nodes == nil {
		return nil, errClosed
	}
	n, known := c.nodes[addr]
	if !known {
		config := c.config.at(addr)
		config.Logger = c.logger.With("node", addr)
		client, err := Open(config, nodeVerifier{cluster: c, addr: addr})
		if err != nil {
			return nil, &refusal{certainty.Program, err}
		}
		n = &node{client: client}
		c.nodes[addr] = n
	}
	n.used.Store(time.Now().UnixNano())
	return n.client, nil
}

// dropSpare closes the clients of nodes that serve no slot and got no call for a
// while. Until then an importing node has one although no slot is its own yet.
func (c *Cluster) dropSpare(now time.Time) {
	m := c.slots.Load()
	if m == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for addr, n := range c.nodes {
		if !slices.Contains(m.masters, addr) && now.Sub(time.Unix(0, n.used.Load())) > spareNode {
			delete(c.nodes, addr)
			c.retire(n)
		}
	}
}

// retire closes a client that no new call can find.
func (c *Cluster) retire(n *node) {
	c.tasks.Go(func() { _ = n.client.Close() })
}
