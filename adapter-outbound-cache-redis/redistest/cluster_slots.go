package redistest

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Slot is the slot of a key, as the cluster says.
func (c *Cluster) Slot(tb testing.TB, key string) int {
	tb.Helper()
	return int(c.Running(tb).must(tb, "CLUSTER", "KEYSLOT", key).(int64))
}

// OwnerOf is the master that has the slot of key, as the cluster says.
func (c *Cluster) OwnerOf(tb testing.TB, key string) *Server {
	tb.Helper()
	slot := strconv.Itoa(c.Slot(tb, key))
	for _, node := range c.Nodes {
		if !node.runs() {
			continue
		}
		// The owner of a slot that migrates may answer ASK; nobody else does.
		if refused, failed := node.Do(tb, "TYPE", key).(ServerError); !failed || strings.HasPrefix(string(refused), "ASK ") {
			return node
		}
	}
	tb.Fatalf("no node that runs has slot %s", slot)
	return nil
}

// Migrate begins to move the slot of key from one master to another, and moves no key.
func (c *Cluster) Migrate(tb testing.TB, key string, from, to *Server) {
	tb.Helper()
	slot := strconv.Itoa(c.Slot(tb, key))
	to.must(tb, "CLUSTER", "SETSLOT", slot, "IMPORTING", c.idOf(tb, from))
	from.must(tb, "CLUSTER", "SETSLOT", slot, "MIGRATING", c.idOf(tb, to))
}

// MoveKeys moves keys of a slot that migrates.
func (c *Cluster) MoveKeys(tb testing.TB, from, to *Server, keys ...string) {
	tb.Helper()
	host, port, _ := net.SplitHostPort(to.Addr())
	from.must(tb, append([]string{"MIGRATE", host, port, "", "0", "5000", "KEYS"}, keys...)...)
}

// EndMigration moves what keys of the slot of key are left and gives the slot to one master for good, by the word of all.
func (c *Cluster) EndMigration(tb testing.TB, key string, to *Server) {
	tb.Helper()
	slot, id := strconv.Itoa(c.Slot(tb, key)), c.idOf(tb, to)
	masters := c.Masters(tb)
	for _, node := range masters {
		for node != to && c.moveSome(tb, slot, node, to, manyKeys) {
			continue
		}
	}
	to.must(tb, "CLUSTER", "SETSLOT", slot, "NODE", id)
	for _, node := range masters {
		if node != to {
			node.must(tb, "CLUSTER", "SETSLOT", slot, "NODE", id)
		}
	}
}

const manyKeys = 1000

// moveSome moves some keys of a slot at once, and tells whether there were any.
func (c *Cluster) moveSome(tb testing.TB, slot string, from, to *Server, most int) bool {
	tb.Helper()
	var keys []string
	for _, name := range from.must(tb, "CLUSTER", "GETKEYSINSLOT", slot, strconv.Itoa(most)).([]any) {
		keys = append(keys, name.(string))
	}
	if len(keys) > 0 {
		c.MoveKeys(tb, from, to, keys...)
	}
	return len(keys) > 0
}

// MoveSlot moves the slot of key from one master to another as a resharding tool does: its keys so many at a time,
// then the slot.
func (c *Cluster) MoveSlot(tb testing.TB, key string, from, to *Server, atOnce int) {
	tb.Helper()
	c.Migrate(tb, key, from, to)
	for slot := strconv.Itoa(c.Slot(tb, key)); c.moveSome(tb, slot, from, to, atOnce); {
		continue
	}
	c.EndMigration(tb, key, to)
}

// Announce makes clients look for a node at addr, such as that of a Link, and returns once every node says so. Its
// replica looks for it there too, and loses it: what replicates is no RESP.
func (c *Cluster) Announce(tb testing.TB, node *Server, addr string) {
	tb.Helper()
	_, port, _ := net.SplitHostPort(addr)
	node.must(tb, "CONFIG", "SET", "cluster-announce-port", port)
	for _, other := range c.Nodes {
		if other != node {
			c.introduce(tb, other, node) // tells at once what gossip would
		}
	}
	c.await(tb, "all nodes to announce "+addr, func(other *Server) bool {
		return slices.ContainsFunc(mastersOf(other.must(tb, "CLUSTER", "SLOTS")), func(line string) bool {
			return strings.HasSuffix(line, " "+port)
		})
	}, c.Nodes)
}
