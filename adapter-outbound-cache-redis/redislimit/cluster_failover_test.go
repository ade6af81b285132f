//go:build cluster

package redislimit_test

import (
	"errors"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

func TestCluster_losesAMasterThenAllAndComesBack(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	cluster.SetNodeTimeout(t, time.Second)
	t.Run("a master killed under load", func(t *testing.T) { killMaster(t, cluster) })
	t.Run("all down and back", func(t *testing.T) { killAll(t, cluster) })
}

// killMaster holds that the heir has charged every evaluation that was allowed, but
// for what the lost master acknowledged and told nobody, and none that failed.
func killMaster(t *testing.T, cluster *redistest.Cluster) {
	const unreplicated = 5
	r := newClusterRig(t, cluster, withLargePolicies(t), func(c *redislimit.Config) { c.Redis.CommandTimeout = time.Second })
	var all []*evaluations
	for _, p := range r.config.Policies {
		all = append(all, startEvaluations(r, p.ID(), r.subjectOf(cluster, cluster.Nodes[0], p.ID()), 2))
	}
	for _, e := range all {
		e.goOn(50)
	}
	cluster.Nodes[0].Kill(t)
	r.eventually("notice the loss", func() bool { return all[0].failed.Load() > 0 })
	for _, e := range all {
		e.goOn(50)
		e.end()
	}
	r.eventually("be ready again", func() bool { return r.health().Ready })
	cluster.AwaitOK(t)
	for _, e := range all {
		allowed, unknown, got := e.allowed.Load(), e.unknown.Load(), r.chargedAt(cluster, e.id, e.who)
		if got > allowed+unknown || got < allowed-unreplicated {
			t.Errorf("%s: charged %d, of %d allowed, %d unknown and %d failed", e.id, got, allowed, unknown, e.failed.Load())
		}
	}
}

func killAll(t *testing.T, cluster *redistest.Cluster) {
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

func TestCluster_thatIsAwayIsUnavailableAtOnce(t *testing.T) {
	c := clusterConfig(t, []string{redistest.Absent(t).Addr()})
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
	if took := time.Since(began); took > 50*c.Redis.AdmissionWait/10 {
		t.Errorf("50 refusals took %v: they waited", took)
	}
	if err := errors.Join(provider.Close(), provider.Close()); err != nil {
		t.Error(err)
	}
	r.expect(r.config.Policies[0].ID(), subject(), 1, "unavailable CONNECTION")
}
