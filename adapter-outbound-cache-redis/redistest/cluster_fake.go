package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// FakeCluster is nodes of a Redis Cluster that keep and run nothing. They are there at once, and what they answer is in
// the hands of a test: it is for the order of a client's commands, which a real cluster's timing hides. Its methods may
// be called from several goroutines. There is no use for the zero value.
type FakeCluster struct {
	// Nodes are the masters, in the order of their slots.
	Nodes []*FakeNode

	mu     sync.Mutex
	owners [clusterSlots]*FakeNode // nil: nobody
}

// FakeNode is a node of a FakeCluster. It answers HELLO, AUTH, INFO, TYPE, ASKING and CLUSTER SLOTS as a master does, any
// other command OK, and each as Answer says. There is no use for the zero value.
type FakeNode struct {
	cluster  *FakeCluster
	listener net.Listener
	tasks    sync.WaitGroup

	mu       sync.Mutex
	rules    []*rule
	received []string
	conns    map[net.Conn]struct{} // nil once the node is gone
}

// StartFakes starts so many nodes, which share the slots evenly, and ends them at tb's cleanup.
func StartFakes(tb testing.TB, nodes int) *FakeCluster {
	tb.Helper()
	c := &FakeCluster{}
	for i := range nodes {
		listener, err := listenLoopback()
		if err != nil {
			tb.Fatalf("start a fake node: %v", err)
		}
		n := &FakeNode{cluster: c, listener: listener, conns: map[net.Conn]struct{}{}}
		c.Nodes = append(c.Nodes, n)
		c.Give(n, i*clusterSlots/nodes, (i+1)*clusterSlots/nodes-1)
		n.tasks.Go(n.accept)
		tb.Cleanup(n.Leave)
	}
	return c
}

// Addrs are the addresses of all nodes.
func (c *FakeCluster) Addrs() []string {
	var all []string
	for _, n := range c.Nodes {
		all = append(all, n.Addr())
	}
	return all
}

// Give makes every node say that slots first to last are n's; nil is nobody.
func (c *FakeCluster) Give(n *FakeNode, first, last int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for slot := first; slot <= last; slot++ {
		c.owners[slot] = n
	}
}

// Received counts the commands of a name, in either case, that all nodes have received.
func (c *FakeCluster) Received(command string) int {
	sum := 0
	for _, n := range c.Nodes {
		sum += n.Received(command)
	}
	return sum
}

// slots is the reply to CLUSTER SLOTS.
func (c *FakeCluster) slots() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ranges []string
	for first := 0; first < clusterSlots; {
		owner, last := c.owners[first], first
		for last+1 < clusterSlots && c.owners[last+1] == owner {
			last++
		}
		if owner != nil {
			host, port, _ := net.SplitHostPort(owner.Addr())
			ranges = append(ranges, fmt.Sprintf("*3\r\n:%d\r\n:%d\r\n*3\r\n%s:%s\r\n%s", first, last, bulk(host), port, bulk(owner.Addr())))
		}
		first = last + 1
	}
	return fmt.Sprintf("*%d\r\n%s", len(ranges), strings.Join(ranges, ""))
}

// Addr is where the node listens, host:port.
func (n *FakeNode) Addr() string { return n.listener.Addr().String() }

// Answer gives the next times requests of a command, on any connection, this reply, in RESP; below zero, all of them
// until Heal. The command is the first word in either case. An empty reply ends the connection. Answers add up as the
// faults of a Link do.
func (n *FakeNode) Answer(command string, times int, reply string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rules = append(n.rules, &rule{command: strings.ToUpper(command), left: times, fault: Replace([]byte(reply))})
}

// Heal ends all that Answer said.
func (n *FakeNode) Heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rules = nil
}

// Received counts the commands of a name, in either case, that the node has received.
func (n *FakeNode) Received(command string) int {
	count := 0
	for _, name := range n.Log() {
		if name == strings.ToUpper(command) {
			count++
		}
	}
	return count
}

// Log is the commands that the node has received, in upper case and in order.
func (n *FakeNode) Log() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.received)
}

// Open is how many connections are open. One that the client closed counts until the node has seen it.
func (n *FakeNode) Open() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.conns)
}

// Leave ends the node: its connections, and those to come. It may be called more than once.
func (n *FakeNode) Leave() {
	_ = n.listener.Close()
	n.mu.Lock()
	for conn := range n.conns {
		_ = conn.Close()
	}
	n.conns = nil
	n.mu.Unlock()
	n.tasks.Wait()
}

func (n *FakeNode) accept() {
	for {
		conn, err := n.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			n.tasks.Go(func() { n.serve(conn) })
		}
	}
}

func (n *FakeNode) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	n.mu.Lock()
	gone := n.conns == nil
	if !gone {
		n.conns[conn] = struct{}{}
	}
	n.mu.Unlock()
	if gone {
		return
	}
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.conns, conn)
	}()
	r := bufio.NewReader(conn)
	for {
		request, err := readValue(r)
		words, ok := request.([]any)
		if err != nil || !ok || len(words) == 0 {
			return
		}
		reply := n.replyTo(strings.ToUpper(fmt.Sprint(words[0])))
		if _, err := conn.Write([]byte(reply)); err != nil || reply == "" {
			return
		}
	}
}

func (n *FakeNode) replyTo(command string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.received = append(n.received, command)
	for _, r := range n.rules {
		if r.take(command) {
			return string(r.fault.reply)
		}
	}
	switch command {
	case "HELLO":
		return "*6\r\n" + bulk("version") + bulk("7.0.0") + bulk("mode") + bulk("cluster") + bulk("role") + bulk("master")
	case "INFO":
		return bulk("maxmemory_policy:noeviction\r\n")
	case "TYPE":
		return "+none\r\n"
	case "CLUSTER":
		return n.cluster.slots()
	default:
		return "+OK\r\n"
	}
}

// bulk is text as a bulk string.
func bulk(text string) string { return "$" + strconv.Itoa(len(text)) + "\r\n" + text + "\r\n" }
