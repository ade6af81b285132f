package partition_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/caller"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
)

// beforeTheCut spends some keys, has both clients use the others, and demands that masters and replicas know exactly that.
func (n *nodes) beforeTheCut() *ledger {
	n.t.Helper()
	asked := n.scene.questions(4, nil)
	n.await("both clients to be served", func() bool { return n.serves(n.leftClient, asked) && n.serves(n.rightClient, asked) })
	before := newLedger(n.questions)
	first := len(n.questions) - n.spent
	for _, made := range n.leftClient.drain(n.questions[first:]).Calls {
		made.Question += first
		before.enter(caller.Account{Calls: []caller.Call{made}})
	}
	for _, c := range []*client{n.leftClient, n.rightClient} {
		c.begin(n.questions[:first], rounds)
		before.enter(c.end())
	}
	of := n.ranges(n.first)
	for i, q := range n.questions {
		before.expectCharged(n.t, "before the cut", i, n.chargedBy(of, q))
	}
	n.await("the replica to be in step", func() bool {
		const offset = "master_repl_offset"
		return n.info(n.first, "replication", offset) == n.info(n.all[masters], "replication", offset)
	})
	return before
}

// serves tells whether a client gets a decision on each of the questions.
func (n *nodes) serves(c *client, questions []caller.Question) bool {
	n.t.Helper()
	c.begin(questions, 1)
	return decided(c.end()) == len(questions)
}

// apart cuts the first master off under load, with a client. Clients are parted first, so that all that the cut changes
// for servers has one moment.
func (n *nodes) apart() (left, right caller.Account) {
	n.t.Helper()
	n.setNodeTimeout(nodeTimeout)
	n.begin(n.questions)
	ties := n.ties()
	server.Disconnect(n.t, ties[1:]...)
	n.mark("cut")
	server.Disconnect(n.t, ties[0])
	cut := time.Now()
	n.hold(cut)
	return n.end()
}

// ties are what holds the two sides together: the servers, and then the clients.
func (n *nodes) ties() []server.Tie {
	return []server.Tie{
		{Network: n.between, Member: n.first},
		{Network: n.right, Member: n.leftClient.Member},
		{Network: n.left, Member: n.rightClient.Member},
	}
}

// together heals the network under load, and waits until the cluster is whole and both clients are served.
func (n *nodes) together() (left, right caller.Account) {
	n.t.Helper()
	n.begin(n.questions)
	n.mark("heal")
	began := time.Now()
	server.Connect(n.t, n.ties()...)
	n.awaitWhole()
	n.whole = time.Since(began)
	last := n.questions[len(n.questions)-1:] // it is spent, and so denied by whoever has its history
	n.await("both clients to be served", func() bool {
		return decided(n.leftClient.drain(last)) == 1 && decided(n.rightClient.drain(last)) == 1
	})
	return n.end()
}

// drainByBoth asks until all is denied, each client for half of the questions.
func (n *nodes) drainByBoth() caller.Account {
	n.t.Helper()
	var all caller.Account
	half := len(n.questions) / 2
	all.Calls = n.leftClient.drain(n.questions[:half]).Calls
	for _, made := range n.rightClient.drain(n.questions[half:]).Calls {
		made.Question += half
		all.Calls = append(all.Calls, made)
	}
	return all
}

// epochs are who serves slots, by name, each with the epoch of its claim.
func (n *nodes) epochs() map[string]string {
	n.t.Helper()
	claims := map[string]string{}
	for line := range strings.Lines(fmt.Sprint(n.at(n.first).must("CLUSTER", "NODES"))) {
		if words := strings.Fields(line); len(words) > 8 { // it has slots
			claims[strings.Split(words[1], ",")[1]] = words[6]
		}
	}
	return claims
}

// movedSince tells of a question whether its slot has another master than before, or one that claimed it anew.
func (n *nodes) movedSince(before map[string]string) func(question int) bool {
	n.t.Helper()
	after, moved := n.epochs(), make([]bool, len(n.questions))
	of := n.ranges(n.first)
	for i, q := range n.questions {
		slot := number(n.at(n.first).must("CLUSTER", "KEYSLOT", n.StateKey(q.PolicyID, q.Subject)))
		for _, r := range of {
			if r.first <= slot && slot <= r.last {
				moved[i] = before[r.master] == "" || before[r.master] != after[r.master]
			}
		}
	}
	return func(question int) bool { return moved[question] }
}

func (n *nodes) named(name string) *server.Member {
	n.t.Helper()
	for _, node := range n.all {
		if node.Name == name {
			return node
		}
	}
	n.t.Fatalf("no node is named %q", name)
	return nil
}

// record keeps what was seen.
func (n *nodes) record(v verdict, healLeft caller.Account) {
	n.t.Helper()
	v.record(n.t)
	longest, _ := since(v.cutRight, "cut", n.isOther).unserved()
	v.keep(n.t, "longest time without service of the slots that were not cut off, new master's side", "%v", round(longest))
	asked := float64(n.parted) / float64(len(n.questions)) / every.Seconds()
	v.keep(n.t, "asked by the old master's side of these keys in a node timeout and 1 s", "%.0f",
		asked*(nodeTimeout+time.Second).Seconds())
	_, back := since(healLeft, "heal", n.isParted).unserved()
	v.keep(n.t, "the client that was cut off was served again", "%v after the heal began", round(back))
	v.keep(n.t, "the cluster was whole, with every replica linked", "%v after the heal began", round(n.whole))
}
