package coordination

import (
	"context"
	"fmt"
	"strings"

	"github.com/sony/gobreaker/v2"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
)

// Health is ready if every slot has a master that is. Problems and warnings begin
// with the address of their node; the version is the oldest master's.
func (c *Cluster) Health() Health {
	if c.context.Err() != nil {
		return Health{Problems: []string{errClosed.Error()}}
	}
	m, lost := c.slots.Load(), c.lost.Load()
	var h Health
	if lost != nil {
		h.Problems, h.Refused = append(h.Problems, lost.Error()), lost.standing()
	}
	if m == nil {
		if lost == nil {
			h.Problems = append(h.Problems, "no map of the slots yet")
		}
		return h
	}
	if first, last, count := m.unserved(); count > 0 {
		h.Problems = append(h.Problems, fmt.Sprintf("%d slots from %d to %d have no master", count, first, last))
	}
	masters := c.masters(m)
	var oldest program.Version
	for _, addr := range m.masters {
		client, known := masters[addr]
		if !known {
			h.Problems = append(h.Problems, addr+": no connection yet")
			continue
		}
		of := client.Health()
		for _, problem := range of.Problems {
			h.Problems = append(h.Problems, addr+": "+problem)
		}
		for _, warning := range of.Warnings {
			h.Warnings = append(h.Warnings, addr+": "+warning)
		}
		h.Refused = h.Refused || of.Refused
		if version, err := program.ParseVersion(of.Version); err == nil && (h.Version == "" || version.Before(oldest)) {
			oldest, h.Version = version, of.Version
		}
	}
	h.Ready = len(h.Problems) == 0
	return h
}

// masters are the clients of the masters of m.
func (c *Cluster) masters(m *slotMap) map[string]*Client {
	found := make(map[string]*Client, len(m.masters))
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, addr := range m.masters {
		if n, known := c.nodes[addr]; known {
			found[addr] = n.client
		}
	}
	return found
}

// clients are the clients of all nodes.
func (c *Cluster) clients() []*Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*Client
	for _, n := range c.nodes {
		all = append(all, n.client)
	}
	return all
}

// Stats counts the connections and callers of all nodes, and what calls met of
// moving slots.
func (c *Cluster) Stats() Stats {
	sum := Stats{Resharding: c.resharding.stats()}
	for _, client := range c.clients() {
		of := client.Stats()
		sum.Open, sum.Idle = sum.Open+of.Open, sum.Idle+of.Idle
		sum.Dialing, sum.Waiting, sum.InFlight = sum.Dialing+of.Dialing, sum.Waiting+of.Waiting, sum.InFlight+of.InFlight
	}
	return sum
}

// Breaker is the worst of the masters' breakers: closed, half-open or open.
func (c *Cluster) Breaker() string {
	worst := gobreaker.StateClosed
	m := c.slots.Load()
	if m == nil {
		return worst.String()
	}
	for _, client := range c.masters(m) {
		worst = max(worst, client.breaker.Load().State()) // in the order of their constants
	}
	return worst.String()
}

// AwaitFirstAttempt waits until the Cluster has looked once for its slots and
// tried once to connect to every master, as [Client.AwaitFirstAttempt] does.
func (c *Cluster) AwaitFirstAttempt(ctx context.Context) error {
	select {
	case <-c.attempted:
	case <-c.context.Done():
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	if m := c.slots.Load(); m != nil {
		for _, client := range c.masters(m) {
			if err := client.AwaitFirstAttempt(ctx); err != nil {
				return err
			}
		}
	}
	if health := c.Health(); health.Refused {
		return fmt.Errorf("the coordination Redis refuses: %s", strings.Join(health.Problems, "; "))
	}
	return nil
}
