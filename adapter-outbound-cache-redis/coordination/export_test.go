package coordination

import (
	"context"
	"net"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
)

// OwnersOf reads a raw reply to CLUSTER SLOTS from a node at host: the master of
// each slot, "" for nobody.
func OwnersOf(raw []byte, host string) ([]string, error) {
	m, err := readSlots(raw, host)
	if err != nil {
		return nil, err
	}
	owners := make([]string, Slots)
	for slot := range owners {
		owners[slot] = m.owner(slot)
	}
	return owners, nil
}

// FollowTo is where a raw reply of the node at addr sends a call, and whether it
// is to ask there.
func FollowTo(raw, addr string) (to string, ask, elsewhere bool) {
	next, elsewhere := redirectionOf(certainty.Result{Fate: certainty.Answered, Raw: []byte(raw)})
	if !elsewhere {
		return "", false, false
	}
	return next.from(addr), next.ask, true
}

// SpareNode is how long a node that serves nothing and gets no call keeps its client.
const SpareNode = spareNode

// DropSpare drops what is spare at a time.
func (c *Cluster) DropSpare(now time.Time) { c.dropSpare(now) }

// Terms are how long a call may wait and take.
type Terms struct {
	Deadline, AdmitUntil time.Time
	Timeout              time.Duration // of a command that is sent now
}

// TermsOf are the terms of a call under c.
func TermsOf(ctx context.Context, c Config) Terms {
	t := c.termsOf(ctx)
	return Terms{Deadline: t.deadline, AdmitUntil: t.admitUntil, Timeout: t.timeout()}
}

// WrapIdle puts a wrap around the transport of each connection of c that is idle.
func (c *Client) WrapIdle(wrap func(net.Conn) net.Conn) {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	for _, cn := range c.pool.idle {
		cn.wire.Conn = wrap(cn.wire.Conn)
	}
}
