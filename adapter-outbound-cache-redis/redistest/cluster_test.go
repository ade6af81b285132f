//go:build cluster

package redistest_test

import (
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

func TestCluster_threeMastersEachWithAReplica(t *testing.T) {
	cluster := redistest.StartCluster(t)
	if got := len(cluster.Masters(t)); got != 3 {
		t.Errorf("%d masters, want 3", got)
	}
	const key = "{acme}"
	owner := cluster.OwnerOf(t, key)
	if got := owner.Do(t, "SET", key, "1"); got != "OK" {
		t.Errorf("SET at the owner: %v", got)
	}
	target := cluster.Masters(t)[0]
	if target == owner {
		target = cluster.Masters(t)[1]
	}
	cluster.Migrate(t, key, owner, target)
	cluster.MoveKeys(t, owner, target, key)
	cluster.EndMigration(t, key, target)
	cluster.AwaitOK(t)
	if got := cluster.OwnerOf(t, key).Addr(); got != target.Addr() {
		t.Errorf("the slot is at %s, want %s", got, target.Addr())
	}
	if got := target.Do(t, "GET", key); got != "1" {
		t.Errorf("GET at the new owner: %v", got)
	}
}
