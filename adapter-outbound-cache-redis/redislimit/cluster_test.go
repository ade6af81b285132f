//go:build cluster

package redislimit_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// newClusterRig opens a provider at a cluster and waits until every slot is served.
func newClusterRig(t *testing.T, cluster *redistest.Cluster, changes ...func(*redislimit.Config)) *rig {
	t.Helper()
	r := &rig{t: t, server: cluster.Nodes[0], config: configFor("", policies(t))}
	r.config.Redis.Cluster = cluster.Addrs()
	for _, change := range changes {
		change(&r.config)
	}
	r.open()
	r.eventually("be ready", func() bool { return r.health().Ready })
	return r
}

// chargedAt is what the master of a subject has charged to it.
func (r *rig) chargedAt(cluster *redistest.Cluster, policyID, digest string) int64 {
	r.t.Helper()
	r.server = cluster.OwnerOf(r.t, r.stateKey(policyID, digest))
	return r.charged(policyID, digest)
}

func TestCluster(t *testing.T) {
	cluster := redistest.StartCluster(t)
	t.Run("each program on 1,000 subjects", func(t *testing.T) { evaluateMany(t, cluster) })
	t.Run("a slot moves to and fro under load", func(t *testing.T) { evaluateWhileMoving(t, cluster) })
	t.Run("a server that is no cluster is refused", func(t *testing.T) { refuseSingle(t) })
	t.Run("a user who may not do all that is needed is refused", func(t *testing.T) { refuseUser(t, cluster) })
	added := cluster.Add(t)
	t.Run("a slot moves to a node that has none", func(t *testing.T) { evaluateAtNewNode(t, cluster, added) })
	t.Run("one node fails", func(t *testing.T) { failOneNode(t, cluster) })
}

func evaluateMany(t *testing.T, cluster *redistest.Cluster) {
	const subjects = 1000
	r := newClusterRig(t, cluster, func(c *configChange) { c.Redis.AdmissionWait, c.Redis.CommandTimeout = 3*time.Second, 3*time.Second })
	var callers sync.WaitGroup
	for _, p := range r.config.Policies {
		for range 10 {
			callers.Go(func() {
				for range subjects / 10 {
					who := subject()
					if got, want := say(r.evaluate(p.ID(), who, 3)), allowed(policyLimit-3); got != want {
						t.Errorf("%s of %s: got %s, want %s", p.ID(), who, got, want)
						return
					}
				}
			})
		}
	}
	callers.Wait()
	for i, master := range cluster.Masters(t) {
		if n, _ := master.Do(t, "DBSIZE").(int64); n < subjects/2 {
			t.Errorf("master %d has %d keys of %d", i, n, 3*subjects)
		}
	}
}

func evaluateWhileMoving(t *testing.T, cluster *redistest.Cluster) {
	const rounds = 10
	who := subject()
	r := newClusterRig(t, cluster, func(c *configChange) {
		c.Policies = largePolicies(t)
		c.Redis.AdmissionWait, c.Redis.CommandTimeout = 3*time.Second, 3*time.Second
	})
	id := r.config.Policies[0].ID()
	state := r.stateKey(id, who)
	r.expect(id, who, 1, allowed(largeLimit-1))
	stop := make(chan struct{})
	var callers sync.WaitGroup
	var charged [4]int64
	for i := range charged {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if got := say(r.evaluate(id, who, 1)); !strings.HasPrefix(got, "allowed ") {
					t.Errorf("while the slot moved: %s", got)
					return
				}
				charged[i]++
			}
		})
	}
	masters := cluster.Masters(t)
	for range rounds {
		from := cluster.OwnerOf(t, state)
		to := masters[0]
		if to == from {
			to = masters[1]
		}
		cluster.Migrate(t, state, from, to)
		cluster.MoveKeys(t, from, to, state)
		cluster.EndMigration(t, state, to)
	}
	close(stop)
	callers.Wait()
	want := int64(1)
	for _, n := range charged {
		want += n
	}
	if got := r.chargedAt(cluster, id, who); got != want {
		t.Errorf("charged %d for %d calls", got, want)
	}
}

func refuseSingle(t *testing.T) {
	server := redistest.Start(t)
	c := configFor("", policies(t))
	c.Redis.Cluster = []string{server.Addr()}
	provider, err := redislimit.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = provider.Close() }()
	if err := provider.Connection().AwaitFirstAttempt(t.Context()); err == nil || !strings.Contains(err.Error(), "cluster support disabled") {
		t.Errorf("got %v", err)
	}
	r := &rig{t: t, config: c, provider: provider}
	r.expect(r.config.Policies[0].ID(), subject(), 1, "incompatible PROGRAM")
}

func refuseUser(t *testing.T, cluster *redistest.Cluster) {
	// Only a program that runs on a slot of the node itself can miss HSET.
	for missing, need := range map[string]string{"-cluster": "may not run CLUSTER SLOTS", "-hset": "may not run HSET"} {
		for _, node := range cluster.Nodes {
			node.Do(t, "ACL", "SETUSER", "limited", "reset", "on", ">secret", "~*", "+@all", missing)
		}
		c := configFor("", policies(t))
		c.Redis.Cluster, c.Redis.Username, c.Redis.Password = cluster.Addrs(), "limited", "secret"
		provider, err := redislimit.Open(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := provider.Connection().AwaitFirstAttempt(t.Context()); err == nil || !strings.Contains(err.Error(), need) {
			t.Errorf("%s: got %v, want %q", missing, err, need)
		}
		r := &rig{t: t, config: c, provider: provider}
		r.expect(r.config.Policies[0].ID(), subject(), 1, "unavailable CREDENTIALS")
		if err := provider.Close(); err != nil {
			t.Error(err)
		}
	}
}

func evaluateAtNewNode(t *testing.T, cluster *redistest.Cluster, added *redistest.Server) {
	r := newClusterRig(t, cluster)
	id, from := r.config.Policies[0].ID(), cluster.Masters(t)[0]
	who := subject()
	for cluster.OwnerOf(t, r.stateKey(id, who)) != from {
		who = subject()
	}
	state := r.stateKey(id, who)
	cluster.Migrate(t, state, from, added)
	r.expect(id, who, 1, allowed(policyLimit-1))
	r.expect(id, who, 1, allowed(policyLimit-2))
	cluster.EndMigration(t, state, added)
	r.expect(id, who, 1, allowed(policyLimit-3))
	cluster.AwaitOK(t)
	if got := r.chargedAt(cluster, id, who); got != 3 || r.server != added {
		t.Errorf("charged %d at %s, want 3 at %s", got, r.server.Addr(), added.Addr())
	}
	r.eventually("be ready with it", func() bool { return r.health().Ready })
}

// failOneNode comes last: the node is announced at a link that ends with the test.
func failOneNode(t *testing.T, cluster *redistest.Cluster) {
	owner := cluster.Nodes[0]
	link := redistest.NewLink(t, owner.Addr())
	cluster.Announce(t, owner, link.Addr())
	r := newClusterRig(t, cluster)
	t.Run("a lost reply", func(t *testing.T) { r.t = t; loseReplies(r, cluster, owner, link) })
	t.Run("a redirection in a circle", func(t *testing.T) { r.t = t; redirectInACircle(r, cluster, owner, link) })
	t.Run("a lost reply to ASKING", func(t *testing.T) { r.t = t; loseAsking(r, cluster, owner, link) })
}

func loseReplies(r *rig, cluster *redistest.Cluster, owner *redistest.Server, link *redistest.Link) {
	t := r.t
	for _, p := range r.config.Policies {
		who := subject()
		for cluster.OwnerOf(t, r.stateKey(p.ID(), who)) != owner {
			who = subject()
		}
		for i, lost := range []redistest.Fault{redistest.LoseReply(), redistest.ResetAfter(), redistest.HalfReply(), redistest.Silence()} {
			link.Fault("EVALSHA", 1, lost)
			r.expect(p.ID(), who, 1, "indeterminate")
			if got, want := r.chargedAt(cluster, p.ID(), who), int64(i+1); got != want {
				t.Errorf("%s: charged %d, want %d", p.ID(), got, want)
			}
		}
	}
}

func redirectInACircle(r *rig, cluster *redistest.Cluster, owner *redistest.Server, link *redistest.Link) {
	id := r.config.Policies[0].ID()
	who := subject()
	for cluster.OwnerOf(r.t, r.stateKey(id, who)) != owner {
		who = subject()
	}
	const enough = 20
	before := link.Forwarded("EVALSHA")
	link.Fault("EVALSHA", enough, redistest.Replace([]byte("-MOVED 1 "+link.Addr()+"\r\n")))
	r.expect(id, who, 1, "unavailable SERVER")
	if got := link.Forwarded("EVALSHA") - before; got != 5 {
		r.t.Errorf("sent %d times, want 5", got)
	}
	link.Heal()
}

// What becomes of ASKING charges nobody, so the call goes on.
func loseAsking(r *rig, cluster *redistest.Cluster, to *redistest.Server, link *redistest.Link) {
	id := r.config.Policies[0].ID()
	who := subject()
	for cluster.OwnerOf(r.t, r.stateKey(id, who)) == to {
		who = subject()
	}
	from := cluster.OwnerOf(r.t, r.stateKey(id, who))
	state := r.stateKey(id, who)
	cluster.Migrate(r.t, state, from, to)
	link.Fault("ASKING", 1, redistest.LoseReply())
	r.expect(id, who, 1, allowed(policyLimit-1))
	if got := link.Forwarded("ASKING"); got != 2 {
		r.t.Errorf("asked %d times, want twice", got)
	}
	cluster.EndMigration(r.t, state, to)
	if got := r.chargedAt(cluster, id, who); got != 1 {
		r.t.Errorf("charged %d, want 1", got)
	}
}

func TestCluster_downAndBack(t *testing.T) {
	cluster := redistest.StartCluster(t)
	r := newClusterRig(t, cluster)
	id := r.config.Policies[0].ID()
	for _, node := range cluster.Nodes {
		node.Kill(t)
	}
	r.eventually("say that it is down", func() bool { return !r.health().Ready })
	for range 20 {
		if got := say(r.evaluate(id, subject(), 1)); got != "unavailable CONNECTION" && got != "indeterminate" {
			t.Errorf("down: %s", got)
		}
	}
	for _, node := range cluster.Nodes {
		node.Restart(t)
	}
	r.eventually("be ready again", func() bool { return r.health().Ready })
	r.eventually("evaluate again", func() bool { return r.evaluate(id, subject(), 1).Allows() })
}

func TestCluster_configsThatCannotWork(t *testing.T) {
	for sentence, change := range map[string]func(*coordination.Config){
		"a server beside": func(c *coordination.Config) { c.Addr = "127.0.0.1:1" },
		"no port":         func(c *coordination.Config) { c.Cluster = []string{"127.0.0.1"} },
		"a database":      func(c *coordination.Config) { c.Database = 1 },
		"no time":         func(c *coordination.Config) { c.CommandTimeout = 0 },
	} {
		c := configFor("", policies(t))
		c.Redis.Cluster = []string{"127.0.0.1:1"}
		change(&c.Redis)
		if _, err := redislimit.Open(c); err == nil {
			t.Errorf("%s: opened", sentence)
		}
	}
}

func TestCluster_thatIsAwayIsUnavailableAtOnce(t *testing.T) {
	away := redistest.Absent(t)
	c := configFor("", policies(t))
	c.Redis.Cluster = []string{away.Addr()}
	provider, err := redislimit.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := provider.Connection().AwaitFirstAttempt(t.Context()); err != nil {
		t.Errorf("away is not refused: %v", err)
	}
	r := &rig{t: t, config: c, provider: provider}
	began := time.Now()
	for range 50 {
		r.expect(r.config.Policies[0].ID(), subject(), 1, "unavailable CONNECTION")
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("50 refusals took %v", took)
	}
	if err := errors.Join(provider.Close(), provider.Close()); err != nil {
		t.Error(err)
	}
	r.expect(r.config.Policies[0].ID(), subject(), 1, "unavailable CONNECTION")
}
