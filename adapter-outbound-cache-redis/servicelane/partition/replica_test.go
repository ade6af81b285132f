package partition_test

import (
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/caller"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
)

// An old master that is cut off goes on to admit for as long as the cut lasts, beside the replica that took its place.
func TestReplica_promotedBesideItsMaster(t *testing.T) {
	t.Parallel()
	playReplica(t, "A master and its replica")
}

// One that needs a replica at hand to write stops soon, and says so.
func TestReplica_promotedBesideAMasterThatNeedsOne(t *testing.T) {
	t.Parallel()
	playReplica(t, "A master with min-replicas-to-write 1, and two replicas",
		"--min-replicas-to-write", "1", "--min-replicas-max-lag", "1")
}

// couple is a master on the left, its heir on the right, and one more replica there where a master needs one.
type couple struct {
	*scene
	old, heir, spare *server.Member
	shared, all      []caller.Question // all: what is shared, then what was spent before the cut
	followed         time.Duration     // how long the old master took to become a replica
}

func newCouple(t *testing.T, needs []string) *couple {
	t.Helper()
	s := newScene(t)
	directives := append([]string{"--repl-diskless-sync-delay", "0"}, needs...)
	c := &couple{
		scene: s,
		old:   server.RedisOn("old", []*server.Network{s.between, s.left}, directives...),
		heir:  server.RedisOn("heir", []*server.Network{s.between, s.right}, directives...),
	}
	servers := []*server.Member{c.old, c.heir}
	if len(needs) > 0 {
		c.spare = server.RedisOn("spare", []*server.Network{s.between, s.right}, directives...)
		servers = append(servers, c.spare)
	}
	s.leftClient, s.rightClient = newClient(t, "left-client", s.left), newClient(t, "right-client", s.right)
	s.launch(servers...)
	for _, replica := range servers[1:] {
		c.replicate(replica, c.old)
	}
	c.awaitInStep()
	left, right := s.target(), s.target()
	left.Addr, right.Addr = c.old.Name+redisPort, c.heir.Name+redisPort
	s.leftClient.open(left)
	s.rightClient.open(right)
	c.shared = s.questions(10, nil)
	c.all = append(c.shared[:len(c.shared):len(c.shared)], s.questions(1, nil)...)
	return c
}

func (c *couple) replicate(one, master *server.Member) {
	c.t.Helper()
	c.at(one).must("REPLICAOF", master.AddrOn(c.t, c.between).String(), redisPort[1:])
}

// awaitInStep waits until old and heir have the same history.
func (c *couple) awaitInStep() time.Duration {
	c.t.Helper()
	return c.await("master and replica to be in step", func() bool {
		for _, one := range []*server.Member{c.old, c.heir} {
			if c.info(one, "replication", "role") != "master" && c.info(one, "replication", "master_link_status") != "up" {
				return false
			}
		}
		const offset = "master_repl_offset"
		return c.info(c.old, "replication", offset) == c.info(c.heir, "replication", offset)
	})
}

func (c *couple) isShared(question int) bool { return question < len(c.shared) }

func playReplica(t *testing.T, name string, needs ...string) {
	c := newCouple(t, needs)
	before := c.beforeTheCut()
	cutLeft, cutRight := c.apart(before)
	healLeft, healRight := c.together()

	left := newLedger(c.all).enter(cutLeft, healLeft)
	right := newLedger(c.all).enter(cutRight, healRight)
	c.awaitInStep()
	rest := newLedger(c.all)
	charged := make([]int64, len(c.all))
	for i, q := range c.all {
		charged[i] = c.charged(c.at(c.heir), q)
		if got := c.charged(c.at(c.old), q); got != charged[i] {
			t.Errorf("question %d: the old master has charged %d after the heal, want the heir's %d", i, got, charged[i])
		}
	}
	rest.enter(c.rightClient.drain(c.all))
	for i := range c.all {
		if got := charged[i] + rest.allowed[i]; got > limit || got+rest.doubtful[i] < limit {
			t.Errorf("question %d: %d had been charged, and %d were admitted after that, want %d in all", i, charged[i], rest.allowed[i], limit)
		}
	}
	if n, last := since(healLeft, "replica", func(int) bool { return true }).admitted(); n > 0 {
		t.Errorf("a replica admitted %d, the last %v after it became one", n, last)
	}
	c.expectLifetimes(c.old, c.heir)
	v := verdict{
		scene: name, questions: c.all, before: before, left: left, right: right, rest: rest,
		lost:   func(i int) int64 { return oneIf(c.isShared(i)) },
		parted: c.isShared, cutLeft: cutLeft, cutRight: cutRight, heal: healLeft.Marks["heal"],
	}
	v.judge(t)
	if len(needs) > 0 {
		v.expectStopped(t)
	}
	v.record(t)
	v.keep(t, "the old master followed the new one", "%v after the heal began", round(c.followed))
}

// beforeTheCut spends some keys, uses the others, and demands that both servers know exactly that.
func (c *couple) beforeTheCut() *ledger {
	c.t.Helper()
	spent := newLedger(c.all)
	for _, made := range c.leftClient.drain(c.all[len(c.shared):]).Calls {
		made.Question += len(c.shared)
		spent.enter(caller.Account{Calls: []caller.Call{made}})
	}
	c.leftClient.begin(c.shared, rounds)
	before := spent.enter(c.leftClient.end())
	c.awaitInStep()
	for i, q := range c.all {
		before.expectCharged(c.t, "before the cut", i, c.charged(c.at(c.old), q))
		before.expectCharged(c.t, "before the cut, by the replica", i, c.charged(c.at(c.heir), q))
	}
	return before
}

// apart cuts the two from each other under load, and promotes the heir.
func (c *couple) apart(before *ledger) (left, right caller.Account) {
	c.t.Helper()
	c.begin(c.all)
	c.mark("cut")
	server.Disconnect(c.t, server.Tie{Network: c.between, Member: c.old})
	cut := time.Now()
	c.at(c.heir).must("REPLICAOF", "NO", "ONE")
	if c.spare != nil {
		c.replicate(c.spare, c.heir)
	}
	c.hold(cut)
	left, right = c.end()
	byLeft := sum(c.all, before, newLedger(c.all).enter(left))
	byAll := sum(c.all, byLeft, newLedger(c.all).enter(right))
	byRight := sum(c.all, before, newLedger(c.all).enter(right))
	for i, q := range c.all {
		byLeft.expectCharged(c.t, "by the old master alone", i, c.charged(c.at(c.old), q))
		charged := c.charged(c.at(c.heir), q)
		if charged < byRight.allowed[i] || charged > byAll.allowed[i]+byAll.doubtful[i] {
			c.t.Errorf("question %d: the heir has charged %d, want what it was given and admitted itself, %d to %d",
				i, charged, byRight.allowed[i], byAll.allowed[i]+byAll.doubtful[i])
		}
	}
	return left, right
}

// together heals the network under load, and makes the old master a replica of the heir.
func (c *couple) together() (left, right caller.Account) {
	c.t.Helper()
	c.begin(c.all)
	c.mark("heal")
	began := time.Now()
	server.Connect(c.t, server.Tie{Network: c.between, Member: c.old})
	c.replicate(c.old, c.heir)
	c.mark("replica")
	c.await("the old master to follow", func() bool { return c.info(c.old, "replication", "master_link_status") == "up" })
	c.followed = time.Since(began)
	return c.end()
}
