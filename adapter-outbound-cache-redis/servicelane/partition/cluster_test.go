package partition_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/caller"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
)

const (
	masters     = 3
	slots       = 16384
	nodeTimeout = time.Second     // during the cut
	calm        = 5 * time.Second // the node timeout until then: no busy machine makes a failover
)

// nodes is a cluster of three masters, each with a replica three places on. The first master is on the left, and all
// other nodes are on the right. Clients are told names, which they find on their own side; nodes know each other's
// addresses on the network between.
type nodes struct {
	*scene
	all   []*server.Member
	first *server.Member // the master that is cut off

	questions []caller.Question
	parted    int // so many of the questions are of the first master, and then come those of others
	spent     int // and last those of the first master that are spent before the cut

	whole time.Duration // how long the cluster took to be so after the heal
}

func newNodes(t *testing.T) *nodes {
	t.Helper()
	n := &nodes{scene: newScene(t)}
	for i := range 2 * masters {
		name, side := fmt.Sprintf("node-%d", i), n.right
		if i == 0 {
			side = n.left
		}
		n.all = append(n.all, server.RedisOn(name, []*server.Network{n.between, side}, "--cluster-enabled", "yes",
			"--cluster-node-timeout", millis(nodeTimeout), "--cluster-announce-hostname", name,
			"--cluster-preferred-endpoint-type", "hostname", "--repl-diskless-sync-delay", "0"))
	}
	n.first = n.all[0]
	n.leftClient, n.rightClient = newClient(t, "left-client", n.left, n.right), newClient(t, "right-client", n.left, n.right)
	n.launch(n.all...)
	n.join()
	target := n.target()
	for _, node := range n.all {
		target.Cluster = append(target.Cluster, node.Name+redisPort)
	}
	n.leftClient.open(target)
	n.rightClient.open(target)
	n.choose()
	return n
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// join makes the nodes one cluster.
func (n *nodes) join() {
	n.t.Helper()
	for i, node := range n.all {
		n.at(node).must("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
		if i < masters {
			n.at(node).must("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(i*slots/masters), strconv.Itoa((i+1)*slots/masters-1))
		}
		for _, other := range n.all[:i] {
			n.at(node).must("CLUSTER", "MEET", other.AddrOn(n.t, n.between).String(), redisPort[1:])
		}
	}
	for _, node := range n.all {
		n.await("all nodes to know each other", func() bool {
			known := fmt.Sprint(n.at(node).must("CLUSTER", "NODES"))
			return strings.Count(known, "\n")-strings.Count(known, "handshake") == len(n.all)
		})
	}
	for i, replica := range n.all[masters:] {
		n.at(replica).must("CLUSTER", "REPLICATE", fmt.Sprint(n.at(n.all[i]).must("CLUSTER", "MYID")))
	}
	n.awaitWhole()
	n.setNodeTimeout(calm)
}

func (n *nodes) setNodeTimeout(d time.Duration) {
	n.t.Helper()
	for _, node := range n.all {
		n.at(node).must("CONFIG", "SET", "cluster-node-timeout", millis(d))
	}
}

// awaitWhole waits until every node says that the cluster is ok, all name the same masters, and every replica is in step.
func (n *nodes) awaitWhole() time.Duration {
	n.t.Helper()
	return n.await("the cluster to be whole", func() bool {
		told := ""
		for _, node := range n.all {
			ok := strings.Contains(fmt.Sprint(n.at(node).must("CLUSTER", "INFO")), "cluster_state:ok") &&
				(n.info(node, "replication", "role") == "master" || n.info(node, "replication", "master_link_status") == "up")
			of := fmt.Sprint(n.ranges(node))
			if !ok || told != "" && of != told {
				return false
			}
			told = of
		}
		return true
	})
}

// slotRange is some slots and their master, by its name.
type slotRange struct {
	first, last int64
	master      string
}

// ranges are the slots as a node knows them, in order.
func (n *nodes) ranges(node *server.Member) []slotRange {
	n.t.Helper()
	var all []slotRange
	entries, _ := n.at(node).must("CLUSTER", "SLOTS").([]any)
	for _, entry := range entries {
		fields := entry.([]any)
		all = append(all, slotRange{number(fields[0]), number(fields[1]), fmt.Sprint(fields[2].([]any)[0])})
	}
	slices.SortFunc(all, func(a, b slotRange) int { return int(a.first - b.first) })
	return all
}

func number(reply any) int64 {
	n, _ := reply.(json.Number).Int64()
	return n
}

// choose makes questions: many of the slots of the first master, some of others, and some of the first that will be spent.
func (n *nodes) choose() {
	n.t.Helper()
	of := func(key string) bool {
		return number(n.at(n.first).must("CLUSTER", "KEYSLOT", key)) < slots/masters
	}
	parted := n.scene.questions(10, of)
	others := n.scene.questions(4, func(key string) bool { return !of(key) })
	spent := n.scene.questions(1, of)
	n.questions = slices.Concat(parted, others, spent)
	n.parted, n.spent = len(parted), len(spent)
}

func (n *nodes) isParted(question int) bool { return question < n.parted }
func (n *nodes) isSpent(question int) bool  { return question >= len(n.questions)-n.spent }
func (n *nodes) isOther(question int) bool  { return !n.isParted(question) && !n.isSpent(question) }

// chargedBy is what the master of a subject has charged to it.
func (n *nodes) chargedBy(of []slotRange, q caller.Question) int64 {
	n.t.Helper()
	slot := number(n.at(n.first).must("CLUSTER", "KEYSLOT", n.StateKey(q.PolicyID, q.Subject)))
	for _, r := range of {
		if r.first <= slot && slot <= r.last {
			return n.charged(n.at(n.named(r.master)), q)
		}
	}
	n.t.Fatalf("no master has slot %d", slot)
	return 0
}

// A master of a cluster that is cut off with a client admits until it knows that it is alone; the rest of the cluster
// replaces it and serves all slots.
func TestCluster_withAMasterCutOff(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	before := n.beforeTheCut()
	epochs := n.epochs()
	cutLeft, cutRight := n.apart()
	healLeft, healRight := n.together()

	left := newLedger(n.questions).enter(cutLeft, healLeft)
	right := newLedger(n.questions).enter(cutRight, healRight)
	of := n.ranges(n.first)
	if of[0].master == n.first.Name {
		t.Fatalf("%s is still a master: nobody took its place", n.first.Name)
	}
	moved := n.movedSince(epochs)
	rest := newLedger(n.questions)
	charged := make([]int64, len(n.questions))
	for i, q := range n.questions {
		charged[i] = n.chargedBy(of, q)
		if !moved(i) {
			sum(n.questions, before, left, right).expectCharged(t, "of a master that was not cut off", i, charged[i])
		}
	}
	rest.enter(n.drainByBoth())
	for i := range n.questions {
		if got := charged[i] + rest.allowed[i]; got > limit || got+rest.doubtful[i] < limit {
			t.Errorf("question %d: %d had been charged, and %d were admitted after that, want %d in all", i, charged[i], rest.allowed[i], limit)
		}
	}
	for _, r := range of {
		n.expectLifetimes(n.named(r.master))
	}
	v := verdict{
		scene: "A cluster of six, at node timeout " + nodeTimeout.String(), questions: n.questions, before: before, left: left, right: right, rest: rest,
		lost:   func(i int) int64 { return oneIf(moved(i) && !n.isSpent(i)) },
		parted: n.isParted, cutLeft: cutLeft, cutRight: cutRight, heal: healLeft.Marks["heal"],
	}
	v.judge(t)
	v.expectStopped(t)
	n.record(v, healLeft)
}
