//go:build cluster

package redislimit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

func TestCluster_oneNodeFails(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	added := cluster.Add(t)
	t.Run("a slot moves to a node that has none", func(t *testing.T) { evaluateAtNewNode(t, cluster, added) })
	owner := cluster.Nodes[0]
	link := redistest.NewLink(t, owner.Addr())
	cluster.Announce(t, owner, link.Addr())
	t.Run("a lost reply", func(t *testing.T) { loseReplies(t, cluster, owner, link) })
	r := newClusterRig(t, cluster)
	t.Run("a redirection in a circle", func(t *testing.T) { r.t = t; redirectInACircle(r, cluster, owner, link) })
	t.Run("a lost reply to ASKING", func(t *testing.T) { r.t = t; loseAsking(r, cluster, owner, link) })
	t.Run("keys that are on their way", func(t *testing.T) { meetResharding(t, cluster, owner, link) })
}

func evaluateAtNewNode(t *testing.T, cluster *redistest.Cluster, added *redistest.Server) {
	r := newClusterRig(t, cluster)
	id, from := r.config.Policies[0].ID(), cluster.Masters(t)[0]
	who := r.subjectOf(cluster, from, id)
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

func loseReplies(t *testing.T, cluster *redistest.Cluster, owner *redistest.Server, link *redistest.Link) {
	r := newClusterRig(t, cluster, func(c *redislimit.Config) { c.Redis.CommandTimeout = time.Second })
	faults := []redistest.Fault{redistest.LoseReply(), redistest.ResetAfter(), redistest.HalfReply(), redistest.Silence()}
	for _, p := range r.config.Policies {
		who := r.subjectOf(cluster, owner, p.ID())
		for i, lost := range faults {
			link.Fault("EVALSHA", 1, lost)
			r.expect(p.ID(), who, 1, "indeterminate")
			if got, want := r.chargedAt(cluster, p.ID(), who), int64(i+1); got != want {
				t.Errorf("%s: charged %d, want %d", p.ID(), got, want)
			}
		}
		faults = faults[:3] // one silence takes a whole command timeout
	}
}

func redirectInACircle(r *rig, cluster *redistest.Cluster, owner *redistest.Server, link *redistest.Link) {
	id := r.config.Policies[0].ID()
	who := r.subjectOf(cluster, owner, id)
	link.Fault("EVALSHA", -1, redistest.Replace([]byte("-MOVED 1 "+link.Addr()+"\r\n")))
	r.expect(id, who, 1, "unavailable SERVER")
	link.Heal()
}

// What becomes of ASKING charges nobody, so the call goes on.
func loseAsking(r *rig, cluster *redistest.Cluster, to *redistest.Server, link *redistest.Link) {
	id, from := r.config.Policies[0].ID(), cluster.Nodes[1]
	who := r.subjectOf(cluster, from, id)
	state := r.stateKey(id, who)
	before := link.Forwarded("ASKING")
	cluster.Migrate(r.t, state, from, to)
	link.Fault("ASKING", 1, redistest.LoseReply())
	r.expect(id, who, 1, allowed(policyLimit-1))
	if got := link.Forwarded("ASKING") - before; got != 2 {
		r.t.Errorf("asked %d times, want twice", got)
	}
	cluster.EndMigration(r.t, state, to)
	if got := r.chargedAt(cluster, id, who); got != 1 {
		r.t.Errorf("charged %d, want 1", got)
	}
}

// No program of the port has two keys, so no real cluster answers it TRYAGAIN. One
// that does is unavailable, by its name and in the counts, and its breaker closed.
func meetResharding(t *testing.T, cluster *redistest.Cluster, owner *redistest.Server, link *redistest.Link) {
	r := newClusterRig(t, cluster, func(c *redislimit.Config) {
		c.Redis.AdmissionWait, c.Redis.BreakerFailures = 300*time.Millisecond, 1
	})
	id := r.config.Policies[0].ID()
	who := r.subjectOf(cluster, owner, id)
	link.Fault("EVALSHA", -1, redistest.Replace([]byte("-TRYAGAIN Multiple keys request during rehashing of slot\r\n")))
	for range 2 {
		r.expect(id, who, 1, "unavailable SERVER")
	}
	link.Heal()
	r.expectBreaker("closed")
	if o := r.evaluate(id, who, 1); o.Kind().String() != "evaluated" && !o.Allows() {
		t.Errorf("healed: got %s", say(o))
	}
	if got, want := r.provider.Connection().Stats().Resharding, (coordination.Resharding{Calls: 3, Met: 2, Refused: 2}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}

func TestCluster_aServerThatIsNoneIsRefused(t *testing.T) {
	server := redistest.Start(t)
	c := clusterConfig(t, []string{server.Addr()})
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

func TestCluster_configsThatCannotWork(t *testing.T) {
	for sentence, change := range map[string]func(*coordination.Config){
		"a server beside": func(c *coordination.Config) { c.Addr = "127.0.0.1:1" },
		"no port":         func(c *coordination.Config) { c.Cluster = []string{"127.0.0.1"} },
		"a database":      func(c *coordination.Config) { c.Database = 1 },
		"no time":         func(c *coordination.Config) { c.CommandTimeout = 0 },
	} {
		c := clusterConfig(t, []string{"127.0.0.1:1"})
		change(&c.Redis)
		if _, err := redislimit.Open(c); err == nil {
			t.Errorf("%s: opened", sentence)
		}
	}
}
