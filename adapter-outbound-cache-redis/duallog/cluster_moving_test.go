//go:build cluster

package duallog_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// callWhileMoving says what share of calls the moves of a slot affect: those of
// the tenant whose slot it is, and no other.
func callWhileMoving(t *testing.T, cluster *redistest.Cluster) {
	const moves, callers, users, atOnce = 10, 4, 10, 10
	moving := openReady(t, clusterConfig(cluster, time.Hour))
	staying := openReady(t, clusterConfig(cluster, time.Hour))
	tenant := newTenant()
	moved, rest := startLoad(t, moving, []string{tenant}, callers, users), startLoad(t, staying, tenants(6), 1, 1)
	moved.goOn(t, 10*users)
	began := moving.Connection().Stats().Resharding
	var took time.Duration
	for range moves {
		from, to := cluster.OwnerOf(t, tenant), cluster.Masters(t)[0]
		if to == from {
			to = cluster.Masters(t)[1]
		}
		before := time.Now()
		cluster.MoveSlot(t, tenant, from, to, atOnce)
		took += time.Since(before)
		moved.goOn(t, 10)
	}
	moved.end()
	rest.end()
	for _, err := range append(moved.failures(), rest.failures()...) {
		if slidinglog.Reason(err) != "resharding" {
			t.Errorf("a call failed, and not for the moves: %v", err)
		}
	}
	moved.demandCharges(t, cluster, nothing)
	rest.demandCharges(t, cluster, nothing)

	of, others := moving.Connection().Stats().Resharding, staying.Connection().Stats().Resharding
	if others.Met != 0 {
		t.Errorf("%d calls of tenants whose slot did not move met moving keys", others.Met)
	}
	t.Logf("%d moves of a slot with a tenant of %d users, %d keys at once, took %v: of its calls %s; of %d calls of other tenants none",
		moves, callers*users, atOnce, took.Round(time.Millisecond), shares(began, of), others.Calls)
}

// shares are the figures since began, in words.
func shares(began, ended coordination.Resharding) string {
	calls := ended.Calls - began.Calls
	percent := func(n int64) float64 { return 100 * float64(n) / float64(calls) }
	met, refused := ended.Met-began.Met, ended.Refused-began.Refused
	return fmt.Sprintf("%d of %d (%.1f %%) met TRYAGAIN and were sent again, of which %d (%.1f %% of all) ended with it",
		met, calls, percent(met), refused, percent(refused))
}
