package redistest_test

import (
	"fmt"
	"net"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

func TestFakeCluster_tellsOneMapAndAnswersAsItIsTold(t *testing.T) {
	fake := redistest.StartFakes(t, 2)
	one, two := fake.Nodes[0], fake.Nodes[1]
	fake.Give(nil, 10, 19)
	fake.Give(two, 0, 9)
	slots := "*3\r\n" + slotRange(0, 9, two) + slotRange(20, 8191, one) + slotRange(8192, 16383, two)
	for _, node := range fake.Nodes {
		c := dial(t, node.Addr())
		c.send("CLUSTER SLOTS")
		c.want(slots)
	}
	c := dial(t, one.Addr())
	one.Answer("echo", 1, "-ERR told so\r\n")
	one.Answer("ECHO", 1, "")
	c.send("ECHO a")
	c.want("-ERR told so\r\n")
	c.send("ECHO a")
	c.wantEnd("", "closed")
	again := dial(t, one.Addr())
	again.send("ECHO a")
	again.want("+OK\r\n")
	if got, all := one.Received("echo"), fake.Received("ECHO"); got != 3 || all != 3 {
		t.Errorf("received %d of %d, want 3 of 3", got, all)
	}
	one.Answer("ECHO", -1, "+more\r\n")
	one.Heal()
	again.send("ECHO a")
	again.want("+OK\r\n")
}

func slotRange(first, last int, n *redistest.FakeNode) string {
	host, port, _ := net.SplitHostPort(n.Addr())
	return fmt.Sprintf("*3\r\n:%d\r\n:%d\r\n*3\r\n$%d\r\n%s\r\n:%s\r\n$%d\r\n%s\r\n", first, last, len(host), host, port, len(n.Addr()), n.Addr())
}

func TestFakeNode_leavesWithItsConnections(t *testing.T) {
	node := redistest.StartFakes(t, 1).Nodes[0]
	c := dial(t, node.Addr())
	c.send("PING")
	c.want("+OK\r\n")
	if got := node.Open(); got != 1 {
		t.Errorf("%d connections are open, want 1", got)
	}
	node.Leave()
	node.Leave()
	if got := node.Open(); got != 0 {
		t.Errorf("%d connections are open, want none", got)
	}
	c.wantEnd("", "closed")
	wantRefused(t, node.Addr())
}
