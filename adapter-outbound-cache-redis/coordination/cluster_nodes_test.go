package coordination_test

import (
	"net"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// watchers is how many clients watch a node now, by the goroutine that each has
// for it.
func watchers() int {
	var stacks strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&stacks, 2)
	return strings.Count(stacks.String(), "coordination.(*Client).monitor(")
}

func TestNodes_oneThatDepartedIsClosed(t *testing.T) {
	for sentence, depart := range map[string]func(*redistest.FakeNode){
		"it runs on without a slot": func(*redistest.FakeNode) {},
		"it is gone":                (*redistest.FakeNode).Leave,
	} {
		t.Run(sentence, func(t *testing.T) {
			fake := redistest.StartFakes(t, 3)
			cluster := openReady(t, inboundConfig(fake.Addrs()...))
			stays, departs := fake.Nodes[1], fake.Nodes[2]
			if got := watchers(); got != 3 {
				t.Fatalf("%d nodes are watched, want 3", got)
			}
			fake.Give(stays, 2*coordination.Slots/3, coordination.Slots-1)
			departs.Answer("EVALSHA", -1, moved(stays))
			expect(t, "its slot", call(t, cluster, keyIn(2, 3)), "+OK")
			depart(departs)
			eventually(t, "learn the new map", func() bool {
				before := departs.Received("EVALSHA")
				return call(t, cluster, keyIn(2, 3)) == "+OK" && departs.Received("EVALSHA") == before
			})
			used := time.Now()
			cluster.DropSpare(used.Add(-time.Second))
			if got := watchers(); got != 3 {
				t.Errorf("just departed: %d nodes are watched, want 3", got)
			}
			cluster.DropSpare(used.Add(coordination.SpareNode))
			eventually(t, "close its client", func() bool { return watchers() == 2 && departs.Open() == 0 })
			eventually(t, "count its connections no more", func() bool { return cluster.Stats().Open == 4 })
			eventually(t, "be ready without it", func() bool { return cluster.Health().Ready })
			expect(t, "without it", call(t, cluster, keyIn(2, 3)), "+OK")
		})
	}
}

func TestNodes_allAreClosedWithTheCluster(t *testing.T) {
	fake := redistest.StartFakes(t, 3)
	cluster := openReady(t, edgeConfig(fake.Addrs()...))
	if err := cluster.Close(); err != nil {
		t.Fatal(err)
	}
	if got := watchers(); got != 0 {
		t.Errorf("%d nodes are watched, want none", got)
	}
	for i, node := range fake.Nodes {
		eventually(t, "see the end", func() bool { return node.Open() == 0 })
		expect(t, "closed", call(t, cluster, keyIn(i, 3)), "refused unreachable")
	}
	if err := cluster.Close(); err != nil {
		t.Error(err)
	}
}

// One address of many is enough, and the ones that do not answer delay nobody.
func TestNodes_areFoundByAnyOfThem(t *testing.T) {
	fake := redistest.StartFakes(t, 3)
	config := inboundConfig(fake.Addrs()...)
	gone := redistest.StartFakes(t, 1)
	gone.Nodes[0].Leave()
	config.Cluster = []string{gone.Nodes[0].Addr(), fake.Nodes[2].Addr()}
	cluster, err := coordination.OpenCluster(config, verifierAt)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cluster.Close() }()
	if err := cluster.AwaitFirstAttempt(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range fake.Nodes {
		expect(t, "found", call(t, cluster, keyIn(i, 3)), "+OK")
	}
}

// In a failover a node may not have heard yet who took over.
func TestNodes_oneThatMissesASlotIsNotTheLastToBeAsked(t *testing.T) {
	fake := redistest.StartFakes(t, 2)
	one := fake.Nodes[0]
	_, port, _ := net.SplitHostPort(one.Addr())
	one.Answer("CLUSTER", -1, string(resp("[1 [3 0 8191 [3 '127.0.0.1' "+port+" 'a'")))
	cluster, err := coordination.OpenCluster(inboundConfig(fake.Addrs()...), verifierAt)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cluster.Close() }()
	if err := cluster.AwaitFirstAttempt(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range fake.Nodes {
		expect(t, "whole", call(t, cluster, keyIn(i, 2)), "+OK")
	}
	fake.Nodes[1].Answer("CLUSTER", -1, "-ERR no\r\n")
	fake.Nodes[1].Answer("EVALSHA", 1, moved(one))
	expect(t, "in doubt", call(t, cluster, keyIn(1, 2)), "+OK")
	eventually(t, "take what there is", func() bool { return call(t, cluster, keyIn(1, 2)) == "refused server" })
	expect(t, "partly", call(t, cluster, keyIn(0, 2)), "+OK")
}

// A node is verified by a key of its own slots before it is sent a call, and one
// that a redirection names as soon as the map gives it a slot.
func TestNodes_areVerifiedBeforeTheirFirstCall(t *testing.T) {
	fake := redistest.StartFakes(t, 2)
	for first := 0; first < coordination.Slots; first += 128 {
		fake.Give(fake.Nodes[first/128%2], first, first+127)
	}
	cluster := openReady(t, inboundConfig(fake.Addrs()...))
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		expect(t, key, call(t, cluster, key), "+OK")
	}
	for i, node := range fake.Nodes {
		log := strings.Join(node.Log(), " ")
		verified, called := strings.Index(log, "EVAL "), strings.Index(log, "EVALSHA")
		if verified < 0 || called >= 0 && called < verified {
			t.Errorf("node %d: %s", i, log)
		}
	}
	newcomer := redistest.StartFakes(t, 1).Nodes[0]
	newcomer.Answer("EVAL", -1, "-NOPERM no right\r\n")
	fake.Nodes[0].Answer("EVALSHA", -1, moved(newcomer))
	fake.Nodes[1].Answer("EVALSHA", -1, moved(newcomer))
	fake.Give(newcomer, 0, coordination.Slots-1)
	eventually(t, "refuse what the newcomer refuses", func() bool { return call(t, cluster, "a") == "refused credentials" })
}
