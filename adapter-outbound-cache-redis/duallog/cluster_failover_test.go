//go:build cluster

package duallog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// callWhileFailingOver lets each replica take its master's place while both run. No
// call fails, unless the cluster itself said that it was down.
func callWhileFailingOver(t *testing.T, cluster *redistest.Cluster) {
	c := clusterConfig(cluster, time.Hour)
	c.Redis.BreakerFailures = never
	limiter := openReady(t, c)
	down := cluster.SaidDown(t)
	load := startLoad(t, limiter, tenants(12), 1, 1)
	for _, replica := range cluster.Replicas(t) {
		load.goOn(t, 10)
		cluster.FailOver(t, replica)
	}
	load.goOn(t, 10)
	load.end()
	switch failures := load.failures(); {
	case len(failures) > 0 && cluster.SaidDown(t) == down:
		t.Errorf("%d calls failed, the first with %v", len(failures), failures[0])
	case len(failures) > 0:
		t.Logf("the cluster was down for a moment, which %d calls noticed", len(failures))
	}
	cluster.AwaitOK(t)
	load.demandCharges(t, cluster, nothing)
}

const nodeTimeout = time.Second

func TestCluster_aMasterThatIsLostCostsNoMoreThanItsFailover(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	cluster.SetNodeTimeout(t, nodeTimeout)
	t.Run("frozen", func(t *testing.T) {
		loseMaster(t, cluster, 0, (*redistest.Server).Pause, (*redistest.Server).Resume)
	})
	t.Run("killed", func(t *testing.T) {
		loseMaster(t, cluster, 1, (*redistest.Server).Kill, func(*redistest.Server, testing.TB) {})
	})
}

// loseMaster loses the i-th master, whose replica is the node three after.
func loseMaster(t *testing.T, cluster *redistest.Cluster, i int, lose, after func(*redistest.Server, testing.TB)) {
	c := clusterConfig(cluster, time.Hour)
	c.Redis.CommandTimeout, c.Redis.BreakerProbeEvery = 300*time.Millisecond, time.Hour
	limiter := openReady(t, c)
	load := startLoad(t, limiter, tenants(12), 1, 1)
	load.goOn(t, 40)
	began := time.Now()
	lost, heir := cluster.Nodes[i], cluster.Nodes[i+3]
	lose(lost, t)
	t.Cleanup(func() { after(lost, t) })
	comes(t, "see that a master is gone", func() bool { return !limiter.Connection().Health().Ready })
	comes(t, "fail over", func() bool { return isMaster(t, heir) })
	for _, node := range cluster.Nodes {
		if node == lost {
			continue
		}
		comes(t, "be ok", func() bool {
			info, _ := node.Do(t, "CLUSTER", "INFO").(string)
			return strings.Contains(info, "cluster_state:ok")
		})
	}
	recovered := time.Since(began)
	back := comes(t, "be ready again", func() bool { return limiter.Connection().Health().Ready })
	load.goOn(t, 40)
	load.end()
	after(lost, t)
	cluster.AwaitOK(t)
	load.demandCharges(t, cluster, unreplicated)
	last := load.lastFailure()
	t.Logf("%s; the cluster was ok %v after the loss, the limiter %v later, and the last call failed after %v", load.sums(),
		recovered.Round(time.Millisecond), back.Round(time.Millisecond), last.Sub(began).Round(time.Millisecond))
	if last.IsZero() {
		t.Error("no call noticed the loss")
	}
	// Calls are to fail for the nodes' timeout and 1.5 s. Where the cluster itself was
	// later, so may calls be; but far less than the 10 s after which the map of the
	// slots is read anyway, or the hour of the breaker.
	const promised, later = nodeTimeout + 1500*time.Millisecond, 2 * time.Second
	if limit := max(promised, recovered+later); last.Sub(began) > limit {
		failures := load.failures()
		t.Errorf("calls failed for longer than %v; the last errors %v", limit, failures[max(0, len(failures)-5):])
	}
}

func isMaster(t *testing.T, node *redistest.Server) bool {
	t.Helper()
	replication, _ := node.Do(t, "INFO", "replication").(string)
	return strings.Contains(replication, "role:master")
}
