package redistest

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	clusterMasters = 3
	clusterSlots   = 16384
	clusterLimit   = 30 * time.Second

	// NodeTimeout is after how long the nodes of a Cluster hold one of them for dead.
	NodeTimeout = time.Second
)

// Cluster is a Redis Cluster of six processes: three masters, each with a replica. Its methods belong in the test's
// own goroutine. There is no use for the zero value.
type Cluster struct {
	// Nodes are the processes: as they start, the first three are the masters in the order of their slots, and each
	// of the next three is the replica of the one three before.
	Nodes []*Server
}

// StartCluster runs a cluster of its own, as Start runs a server, and returns once every node says that the cluster
// is ok and every replica is linked to its master. Directives are of all nodes.
func StartCluster(tb testing.TB, directives ...string) *Cluster {
	tb.Helper()
	c := &Cluster{}
	for range 2 * clusterMasters {
		c.Nodes = append(c.Nodes, startNode(tb, directives))
	}
	c.join(tb)
	return c
}

// Add starts one more node, a master without a slot, and returns once the cluster is ok with it.
func (c *Cluster) Add(tb testing.TB, directives ...string) *Server {
	tb.Helper()
	c.Nodes = append(c.Nodes, startNode(tb, directives))
	c.meet(tb)
	c.AwaitOK(tb)
	return c.Nodes[len(c.Nodes)-1]
}

func startNode(tb testing.TB, directives []string) *Server {
	tb.Helper()
	bus, err := freeAddr()
	if err != nil {
		tb.Fatalf("start a node of a cluster: %v", err)
	}
	_, port, _ := net.SplitHostPort(bus)
	return Start(tb, append([]string{
		"--cluster-enabled", "yes", "--cluster-port", port,
		"--cluster-node-timeout", strconv.FormatInt(NodeTimeout.Milliseconds(), 10),
		"--repl-diskless-sync-delay", "0",
	}, directives...)...)
}

func (c *Cluster) join(tb testing.TB) {
	tb.Helper()
	for i, node := range c.Nodes {
		node.must(tb, "CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
		if i < clusterMasters {
			first, next := i*clusterSlots/clusterMasters, (i+1)*clusterSlots/clusterMasters
			node.must(tb, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(next-1))
		}
	}
	c.meet(tb)
	for i, replica := range c.Nodes[clusterMasters:] {
		replica.must(tb, "CLUSTER", "REPLICATE", c.Nodes[i].nodeID(tb))
	}
	c.AwaitOK(tb)
}

// meet makes each know each, so that nobody waits for gossip.
func (c *Cluster) meet(tb testing.TB) {
	tb.Helper()
	for i, node := range c.Nodes {
		for _, other := range c.Nodes[i+1:] {
			host, port, _ := net.SplitHostPort(other.Addr())
			node.must(tb, "CLUSTER", "MEET", host, port, other.directive("--cluster-port"))
		}
	}
	c.await(tb, "all nodes to know each other", func(node *Server) bool {
		known := node.must(tb, "CLUSTER", "NODES").(string)
		return strings.Count(known, "\n") == len(c.Nodes) && !strings.Contains(known, "handshake")
	}, c.Nodes)
}

// AwaitOK waits until every node that runs says that the cluster is ok, all of them agree who has which slot, and
// every replica is linked.
func (c *Cluster) AwaitOK(tb testing.TB) {
	tb.Helper()
	var running []*Server
	for _, node := range c.Nodes {
		if node.runs() {
			running = append(running, node)
		}
	}
	c.await(tb, "the cluster to be ok", func(node *Server) bool {
		replication, _ := node.Do(tb, "INFO", "replication").(string)
		return infoField(node.must(tb, "CLUSTER", "INFO"), "cluster_state") == "ok" &&
			(infoField(replication, "role") == "master" || infoField(replication, "master_link_status") == "up") &&
			slices.Equal(mastersOf(node.must(tb, "CLUSTER", "SLOTS")), mastersOf(running[0].must(tb, "CLUSTER", "SLOTS")))
	}, running)
}

// mastersOf are the lines "first last port" of a reply to CLUSTER SLOTS, in order.
func mastersOf(reply any) []string {
	var lines []string
	for _, entry := range reply.([]any) {
		fields := entry.([]any)
		lines = append(lines, fmt.Sprint(fields[0], fields[1], fields[2].([]any)[1]))
	}
	slices.Sort(lines)
	return lines
}

func (c *Cluster) await(tb testing.TB, what string, holds func(*Server) bool, nodes []*Server) {
	tb.Helper()
	limit := time.After(clusterLimit)
	tick := time.NewTicker(5 * pollEvery)
	defer tick.Stop()
	for _, node := range nodes {
		for !holds(node) {
			select {
			case <-tick.C:
			case <-limit:
				tb.Fatalf("waited %v for %s; %s says:\n%v", clusterLimit, what, node.Addr(), node.must(tb, "CLUSTER", "NODES"))
			}
		}
	}
}

// Addrs are the addresses of all nodes.
func (c *Cluster) Addrs() []string {
	var all []string
	for _, node := range c.Nodes {
		all = append(all, node.Addr())
	}
	return all
}

// Masters are the nodes that run and have slots, in the order of their first slot, by the word of node asked.
func (c *Cluster) Masters(tb testing.TB) []*Server {
	tb.Helper()
	entries := c.Running(tb).must(tb, "CLUSTER", "SLOTS").([]any)
	slices.SortFunc(entries, func(a, b any) int { return cmp.Compare(a.([]any)[0].(int64), b.([]any)[0].(int64)) })
	var found []*Server
	for _, entry := range entries {
		id := entry.([]any)[2].([]any)[2].(string)
		for _, node := range c.Nodes {
			if node.runs() && node.nodeID(tb) == id && !slices.Contains(found, node) {
				found = append(found, node)
			}
		}
	}
	return found
}

// Running is a node that runs.
func (c *Cluster) Running(tb testing.TB) *Server {
	tb.Helper()
	for _, node := range c.Nodes {
		if node.runs() {
			return node
		}
	}
	tb.Fatal("no node of the cluster runs")
	return nil
}

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
		if reply, _ := node.Do(tb, "TYPE", key).(ServerError); !strings.HasPrefix(string(reply), "MOVED ") {
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
	to.must(tb, "CLUSTER", "SETSLOT", slot, "IMPORTING", from.nodeID(tb))
	from.must(tb, "CLUSTER", "SETSLOT", slot, "MIGRATING", to.nodeID(tb))
}

// MoveKeys moves keys of a slot that migrates.
func (c *Cluster) MoveKeys(tb testing.TB, from, to *Server, keys ...string) {
	tb.Helper()
	host, port, _ := net.SplitHostPort(to.Addr())
	from.must(tb, append([]string{"MIGRATE", host, port, "", "0", "5000", "KEYS"}, keys...)...)
}

// EndMigration gives the slot of key to one master for good, by the word of all.
func (c *Cluster) EndMigration(tb testing.TB, key string, to *Server) {
	tb.Helper()
	slot, id := strconv.Itoa(c.Slot(tb, key)), to.nodeID(tb)
	to.must(tb, "CLUSTER", "SETSLOT", slot, "NODE", id)
	for _, node := range c.Masters(tb) {
		if node != to {
			node.must(tb, "CLUSTER", "SETSLOT", slot, "NODE", id)
		}
	}
}

// Announce makes clients look for a node at addr, such as that of a Link, and returns once every node says so. Its
// replica looks for it there too, and loses it: what replicates is no RESP.
func (c *Cluster) Announce(tb testing.TB, node *Server, addr string) {
	tb.Helper()
	_, port, _ := net.SplitHostPort(addr)
	node.must(tb, "CONFIG", "SET", "cluster-announce-port", port)
	c.await(tb, "all nodes to announce "+addr, func(other *Server) bool {
		return slices.ContainsFunc(mastersOf(other.must(tb, "CLUSTER", "SLOTS")), func(line string) bool {
			return strings.HasSuffix(line, " "+port)
		})
	}, c.Nodes)
}

func (s *Server) nodeID(tb testing.TB) string {
	tb.Helper()
	return s.must(tb, "CLUSTER", "MYID").(string)
}

// must is Do for a command that is not refused.
func (s *Server) must(tb testing.TB, args ...string) any {
	tb.Helper()
	reply := s.Do(tb, args...)
	if refused, failed := reply.(ServerError); failed {
		tb.Fatalf("redis-server %s: %q: %v", s.Addr(), args, refused)
	}
	return reply
}

func (s *Server) runs() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running != nil
}

func (s *Server) directive(name string) string {
	if i := slices.Index(s.directives, name); i >= 0 && i+1 < len(s.directives) {
		return s.directives[i+1]
	}
	return ""
}
