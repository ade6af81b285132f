//go:build cluster

package duallog_test

import (
	"crypto/rand"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/duallog"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog/slidinglogtest"
)

const clusterPatience = 60 * time.Second // for what must come by itself

// clusterConfig finds the cluster by its nodes, one of which may be gone.
func clusterConfig(cluster *redistest.Cluster, window time.Duration) duallog.Config {
	c := configFor("", window)
	c.Redis.Cluster, c.Redis.CommandTimeout = cluster.Addrs(), 10*time.Second
	return c
}

// openReady opens a limiter and waits until every slot is served.
func openReady(t *testing.T, c duallog.Config) *duallog.RedisLimiter {
	t.Helper()
	limiter := open(t, c)
	comes(t, "be ready", func() bool { return limiter.Connection().Health().Ready })
	return limiter
}

// comes waits for what must come by itself, and says how long that took.
func comes(t *testing.T, what string, holds func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if time.Since(began) > clusterPatience {
			t.Fatalf("did not %s within %v", what, clusterPatience)
		}
		<-tick.C
	}
	return time.Since(began)
}

// onCluster makes limiters whose clock a check sets, all on one cluster. Checks of
// one window, which come one after the other, share a limiter.
func onCluster(t *testing.T, cluster *redistest.Cluster) slidinglogtest.Harness {
	var now atomic.Int64
	limiters := map[time.Duration]*duallog.RedisLimiter{}
	return slidinglogtest.Harness{New: func(_ *testing.T, window time.Duration) slidinglogtest.Limiters {
		if limiters[window] == nil {
			limiters[window] = openReady(t, clusterConfig(cluster, window))
			limiters[window].SetClock(now.Load)
		}
		return slidinglogtest.Limiters{
			Single: limiters[window], Dual: limiters[window].Dual(), SetNow: now.Store,
			Drop: func(keys ...string) {
				for _, key := range keys {
					cluster.OwnerOf(t, key).Do(t, "DEL", key)
				}
			},
		}
	}}
}

// newTenant is a tenant's key that no other test has.
func newTenant() string { return "rl:{" + rand.Text() + "}" }

// logged is how many calls the log of key holds, by the word of its master.
func logged(t *testing.T, at *redistest.Server, key string) int64 {
	t.Helper()
	switch reply := at.Do(t, "ZCARD", key).(type) {
	case int64:
		return reply
	default:
		t.Fatalf("ZCARD %s: %v", key, reply)
		return 0
	}
}

func TestCluster(t *testing.T) {
	cluster := redistest.SharedCluster(t)
	t.Run("a slot moves to and fro under load", func(t *testing.T) { callWhileMoving(t, cluster) })
	t.Run("a planned failover fails no call", func(t *testing.T) { callWhileFailingOver(t, cluster) })
	for sentence, hold := range map[string]func(*testing.T){
		"scenarios": func(t *testing.T) { slidinglogtest.Run(t, onCluster(t, cluster)) },
		"vectors":   func(t *testing.T) { slidinglogtest.RunVectors(t, onCluster(t, cluster)) },

		"both keys are of one slot, and one call charges both": func(t *testing.T) { chargeBoth(t, cluster) },

		"a migration under way, calls of keys that are there": func(t *testing.T) { callUnderMigration(t, newMigration(t, cluster)) },
		"a migration under way, calls of keys that are not":   func(t *testing.T) { callForMissingKeys(t, newMigration(t, cluster)) },
		"a migration under way, calls of one layer":           func(t *testing.T) { callOneLayerUnderMigration(t, newMigration(t, cluster)) },
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			hold(t)
		})
	}
}

// The alternative, one call for the tenant and one for the user, would be needed if
// the two keys could fall into different slots. They cannot.
func chargeBoth(t *testing.T, cluster *redistest.Cluster) {
	limiter := openReady(t, clusterConfig(cluster, time.Hour)).Dual()
	hit := map[*redistest.Server]int{}
	for i := range 100 {
		tenant := newTenant()
		user := tenant + ":user:" + strconv.Itoa(i%7) + "%7B%7D"
		slot := cluster.Slot(t, tenant)
		if other := cluster.Slot(t, user); other != slot || coordination.Slot(tenant) != slot || coordination.Slot(user) != slot {
			t.Fatalf("%s is in slot %d and %s in %d; own reckoning %d and %d", tenant, slot, user, other,
				coordination.Slot(tenant), coordination.Slot(user))
		}
		if allowed, _, _, err := limiter.AllowDual(tenant, 5, user, 2); !allowed || err != nil {
			t.Fatalf("%s: allowed %t, %v", user, allowed, err)
		}
		owner := cluster.OwnerOf(t, tenant)
		hit[owner]++
		if outer, inner := logged(t, owner, tenant), logged(t, owner, user); outer != 1 || inner != 1 {
			t.Errorf("%s: charged %d and %d, want 1 and 1", user, outer, inner)
		}
	}
	if len(hit) != 3 {
		t.Errorf("the tenants are on %d masters, want 3", len(hit))
	}
}
