//go:build cluster

package redislimit_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// clusterConfig finds the cluster by its nodes, and leaves time enough for a call
// that is not to end by its time.
func clusterConfig(t *testing.T, addrs []string) redislimit.Config {
	t.Helper()
	c := configFor("", policies(t))
	c.Redis.Cluster, c.Redis.AdmissionWait, c.Redis.CommandTimeout = addrs, 4*time.Second, 4*time.Second
	return c
}

// newClusterRig opens a provider at a cluster and waits until every slot is served.
func newClusterRig(t *testing.T, cluster *redistest.Cluster, changes ...func(*redislimit.Config)) *rig {
	t.Helper()
	r := &rig{t: t, server: cluster.Nodes[0], config: clusterConfig(t, cluster.Addrs())}
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

// subjectOf is a subject whose state under a policy is of this master.
func (r *rig) subjectOf(cluster *redistest.Cluster, master *redistest.Server, policyID string) string {
	r.t.Helper()
	for {
		if who := subject(); cluster.OwnerOf(r.t, r.stateKey(policyID, who)) == master {
			return who
		}
	}
}

// another is a master other than one.
func another(t *testing.T, cluster *redistest.Cluster, one *redistest.Server) *redistest.Server {
	t.Helper()
	masters := cluster.Masters(t)
	if masters[0] == one {
		return masters[1]
	}
	return masters[0]
}

func TestCluster(t *testing.T) {
	cluster := redistest.SharedCluster(t)
	t.Run("each program on 1,000 subjects", func(t *testing.T) { evaluateMany(t, cluster) })
	t.Run("a migration under way, step by step", func(t *testing.T) { evaluateUnderMigration(t, cluster) })
	t.Run("a slot moves to and fro under load", func(t *testing.T) { evaluateWhileMoving(t, cluster) })
	t.Run("a user who may not do all that is needed is refused", func(t *testing.T) { refuseUser(t, cluster) })
	t.Run("a planned failover fails no evaluation", func(t *testing.T) { evaluateWhileFailingOver(t, cluster) })
}

func evaluateMany(t *testing.T, cluster *redistest.Cluster) {
	const subjects = 1000
	r := newClusterRig(t, cluster)
	before := map[*redistest.Server]int64{}
	for _, master := range cluster.Masters(t) {
		before[master], _ = master.Do(t, "DBSIZE").(int64)
	}
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
	for master, keys := range before {
		if n, _ := master.Do(t, "DBSIZE").(int64); n-keys < subjects/2 {
			t.Errorf("%s has %d keys of %d", master.Addr(), n-keys, 3*subjects)
		}
	}
}

func refuseUser(t *testing.T, cluster *redistest.Cluster) {
	// Only a program that runs on a slot of the node itself can miss HSET.
	for missing, need := range map[string]string{"-cluster": "may not run CLUSTER SLOTS", "-hset": "may not run HSET"} {
		for _, node := range cluster.Nodes {
			node.Do(t, "ACL", "SETUSER", "limited", "reset", "on", ">secret", "~*", "+@all", missing)
		}
		c := clusterConfig(t, cluster.Addrs())
		c.Redis.Username, c.Redis.Password = "limited", "secret"
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
