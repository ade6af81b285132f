package redistest

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	clusterMasters = 3
	clusterSlots   = 16384
	clusterLimit   = 60 * time.Second
	joinTimeout    = time.Second     // of a node while it joins: those of a short one hear of each other sooner
	nodeTimeout    = 5 * time.Second // on a busy machine too, no node that lives is held for dead
)

// ClusterVariable is the environment variable that names a cluster which runs already: the addresses of its nodes
// with commas between.
const ClusterVariable = "EDGELIMIT_REDIS_CLUSTER"

// Cluster is a Redis Cluster of six processes: three masters, each with a replica. Its methods belong in the test's
// own goroutine. There is no use for the zero value.
type Cluster struct {
	// Nodes are the processes: as they start, the first three are the masters in the order of their slots, and each
	// of the next three is the replica of the one three before.
	Nodes []*Server

	mu  sync.Mutex
	ids map[*Server]string // that were asked for
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
	c.SetNodeTimeout(tb, nodeTimeout)
	return c
}

// SetNodeTimeout sets after how long nodes that run hold one for dead: until then, 5 s. It does not last over a Restart.
func (c *Cluster) SetNodeTimeout(tb testing.TB, d time.Duration) {
	tb.Helper()
	for _, node := range c.Nodes {
		if node.runs() {
			node.must(tb, "CONFIG", "SET", "cluster-node-timeout", strconv.FormatInt(d.Milliseconds(), 10))
		}
	}
}

// SharedCluster is the cluster that ClusterVariable names, once it is ok, else one of its own. On one that is named
// nothing kills, stops or adds a node, and tests of one package run on it after those of another: what they move and
// fail over stays so.
func SharedCluster(tb testing.TB) *Cluster {
	tb.Helper()
	named := os.Getenv(ClusterVariable)
	if named == "" {
		return StartCluster(tb)
	}
	c := &Cluster{}
	for addr := range strings.SplitSeq(named, ",") {
		c.Nodes = append(c.Nodes, &Server{addr: addr})
	}
	c.AwaitOK(tb)
	return c
}

// Add starts one more node, a master without a slot, and returns once the cluster is ok with it. It sets the node
// timeout of all to 5 s.
func (c *Cluster) Add(tb testing.TB, directives ...string) *Server {
	tb.Helper()
	c.Nodes = append(c.Nodes, startNode(tb, directives))
	c.meet(tb)
	c.AwaitOK(tb)
	c.SetNodeTimeout(tb, nodeTimeout)
	return c.Nodes[len(c.Nodes)-1]
}

func startNode(tb testing.TB, directives []string) *Server {
	tb.Helper()
	bus, err := FreeAddr()
	if err != nil {
		tb.Fatalf("start a node of a cluster: %v", err)
	}
	_, port, _ := net.SplitHostPort(bus)
	return Start(tb, append([]string{
		"--cluster-enabled", "yes", "--cluster-port", port,
		"--cluster-node-timeout", strconv.FormatInt(joinTimeout.Milliseconds(), 10),
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
		replica.must(tb, "CLUSTER", "REPLICATE", c.idOf(tb, c.Nodes[i]))
	}
	c.AwaitOK(tb)
}

// meet makes each know each, so that nobody waits for gossip.
func (c *Cluster) meet(tb testing.TB) {
	tb.Helper()
	for i, node := range c.Nodes {
		for _, other := range c.Nodes[i+1:] {
			c.introduce(tb, node, other)
		}
	}
	c.await(tb, "all nodes to know each other", func(node *Server) bool {
		known := node.must(tb, "CLUSTER", "NODES").(string)
		// One that is met twice may shake hands for a while after it is known.
		return strings.Count(known, "\n")-strings.Count(known, "handshake") == len(c.Nodes)
	}, c.Nodes)
}

func (c *Cluster) introduce(tb testing.TB, node, other *Server) {
	tb.Helper()
	host, port, _ := net.SplitHostPort(other.Addr())
	node.must(tb, "CLUSTER", "MEET", host, port, other.directive("--cluster-port"))
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

// FailOver makes replica take its master's place while both run, and returns once it has. It waits until all know who
// has which slot: a replica that has not heard of a move yet would undo it. It asks again when the replica has given up,
// as it does if the two are slow to agree.
func (c *Cluster) FailOver(tb testing.TB, replica *Server) {
	tb.Helper()
	c.AwaitOK(tb)
	var asked time.Time
	c.await(tb, "the replica to take over", func(node *Server) bool {
		if infoField(node.Do(tb, "INFO", "replication"), "role") == "master" {
			return true
		}
		if time.Since(asked) > failOverGivesUp {
			node.Do(tb, "CLUSTER", "FAILOVER")
			asked = time.Now()
		}
		return false
	}, []*Server{replica})
}

// SaidDown is how many commands the nodes that run have answered CLUSTERDOWN so far. A planned failover brings none, but
// where a master is slow: it may hear that the old one of another shard is a replica before it hears of the new one.
func (c *Cluster) SaidDown(tb testing.TB) int64 {
	tb.Helper()
	var sum int64
	for _, node := range c.Nodes {
		if node.runs() {
			count, _ := strings.CutPrefix(infoField(node.must(tb, "INFO", "errorstats"), "errorstat_CLUSTERDOWN"), "count=")
			n, _ := strconv.ParseInt(count, 10, 64)
			sum += n
		}
	}
	return sum
}

// failOverGivesUp is when a replica has given up a failover that it was asked for: 5 s, and some.
const failOverGivesUp = 6 * time.Second

// Replicas are the nodes that run and replicate another.
func (c *Cluster) Replicas(tb testing.TB) []*Server {
	tb.Helper()
	var found []*Server
	for _, node := range c.Nodes {
		if node.runs() && infoField(node.Do(tb, "INFO", "replication"), "role") == "slave" {
			found = append(found, node)
		}
	}
	return found
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
			if node.runs() && c.idOf(tb, node) == id && !slices.Contains(found, node) {
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

// idOf is a node's id, which it keeps for good.
func (c *Cluster) idOf(tb testing.TB, node *Server) string {
	tb.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ids == nil {
		c.ids = map[*Server]string{}
	}
	if c.ids[node] == "" {
		c.ids[node] = node.must(tb, "CLUSTER", "MYID").(string)
	}
	return c.ids[node]
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

// runs tells whether the process does. One of somebody else's is taken to.
func (s *Server) runs() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running != nil || s.binary == ""
}

func (s *Server) directive(name string) string {
	if i := slices.Index(s.directives, name); i >= 0 && i+1 < len(s.directives) {
		return s.directives[i+1]
	}
	return ""
}
