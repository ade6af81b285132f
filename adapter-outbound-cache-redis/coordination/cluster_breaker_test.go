package coordination_test

import (
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// What one node answers for good: to calls, and to verifications of its client.
func answerAll(n *redistest.FakeNode, reply string) {
	for _, command := range []string{"EVAL", "EVALSHA", "TYPE"} {
		n.Answer(command, -1, reply)
	}
}

func TestBreaker_ofANodeByWhatItAnswers(t *testing.T) {
	for _, row := range []struct {
		reply         string
		inbound, edge string
	}{
		{"-MOVED 1 ?:0\r\n", "closed", "closed"},
		{"-ASK 1 ?:0\r\n", "closed", "closed"},
		{"-CLUSTERDOWN The cluster is down\r\n", "open", "closed"},
		{"-MASTERDOWN Link with MASTER is down\r\n", "open", "closed"},
		{"-LOADING Redis is loading\r\n", "open", "closed"},
		{"-READONLY You can't write against a read only replica\r\n", "open", "closed"},
		{"-BUSY Redis is busy\r\n", "open", "closed"},
		{"-ERR something\r\n", "closed", "closed"},
	} {
		t.Run(row.reply[1:5], func(t *testing.T) {
			fake := redistest.StartFakes(t, 2)
			for name, of := range map[string]struct {
				config coordination.Config
				want   string
			}{"inbound": {inboundConfig(fake.Addrs()...), row.inbound}, "edge": {edgeConfig(fake.Addrs()...), row.edge}} {
				cluster := openReady(t, of.config)
				before := fake.Received("EVALSHA")
				answerAll(fake.Nodes[0], row.reply)
				for range 10 {
					call(t, cluster, keyIn(0, 2))
				}
				expect(t, name, cluster.Breaker(), of.want)
				want := 10
				if of.want == "open" {
					want = of.config.BreakerFailures
					expect(t, name, call(t, cluster, keyIn(0, 2)), "refused breaker")
				}
				if got := fake.Received("EVALSHA") - before; got != want {
					t.Errorf("%s: %d calls were sent, want %d", name, got, want)
				}
				expect(t, name+", the other node", call(t, cluster, keyIn(1, 2)), "+OK")
				fake.Nodes[0].Heal()
				if err := cluster.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// No probe passes within the hour, so what closes the breaker is the look that
// finds that the node serves again.
func TestBreaker_ofANodeClosesWhenTheClusterIsBack(t *testing.T) {
	fake := redistest.StartFakes(t, 2)
	cluster := openReady(t, inboundConfig(fake.Addrs()...))
	for range 2 {
		answerAll(fake.Nodes[0], "-CLUSTERDOWN The cluster is down\r\n")
		eventually(t, "open the breaker", func() bool {
			call(t, cluster, keyIn(0, 2))
			return cluster.Breaker() == "open"
		})
		eventually(t, "notice that the cluster is down", func() bool { return !cluster.Health().Ready })
		expect(t, "down", call(t, cluster, keyIn(0, 2)), "refused breaker")
		fake.Nodes[0].Heal()
		eventually(t, "serve again", func() bool { return call(t, cluster, keyIn(0, 2)) == "+OK" })
		expect(t, "back", cluster.Breaker(), "closed")
		eventually(t, "be ready again", func() bool { return cluster.Health().Ready })
	}
}

// The edge port's breaker closes by its probes alone.
func TestBreaker_ofANodeThatWasLostStaysOpenForTheEdge(t *testing.T) {
	fake := redistest.StartFakes(t, 2)
	cluster := openReady(t, edgeConfig(fake.Addrs()...))
	for _, command := range []string{"EVALSHA", "HELLO"} {
		fake.Nodes[0].Answer(command, -1, "")
	}
	eventually(t, "open the breaker", func() bool {
		call(t, cluster, keyIn(0, 2))
		return cluster.Breaker() == "open"
	})
	expect(t, "the other node", call(t, cluster, keyIn(1, 2)), "+OK")
	eventually(t, "notice the loss", func() bool { return !cluster.Health().Ready })
	fake.Nodes[0].Heal()
	eventually(t, "be ready again", func() bool { return cluster.Health().Ready })
	expect(t, "back", cluster.Breaker(), "open")
	expect(t, "back", call(t, cluster, keyIn(0, 2)), "refused breaker")
}

// A node all of whose slots are on their way, so that no key of a verification is
// its own, is well.
func TestHealth_ofANodeThatRedirectsEveryKey(t *testing.T) {
	fake := redistest.StartFakes(t, 2)
	cluster := openReady(t, inboundConfig(fake.Addrs()...))
	for _, command := range []string{"EVAL", "TYPE"} {
		fake.Nodes[0].Answer(command, -1, ask(fake.Nodes[1]))
	}
	looked := fake.Nodes[0].Received("TYPE")
	fake.Nodes[0].Answer("EVALSHA", 1, "-CLUSTERDOWN Hash slot not served\r\n") // makes its client look anew
	expect(t, "in doubt", call(t, cluster, keyIn(0, 2)), "-CLUSTERDOWN Hash slot not served")
	eventually(t, "be looked at", func() bool {
		if health := cluster.Health(); !health.Ready {
			t.Fatalf("not ready: %q", health.Problems)
		}
		return fake.Nodes[0].Received("TYPE") >= looked+4
	})
	if got := fake.Nodes[0].Received("EVAL"); got < 2 {
		t.Errorf("verified %d times, want again after the doubt", got)
	}
}
