//go:build cluster

package duallog_test

import (
	"errors"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog/slidinglogtest"
)

// links are links that can fail to all masters of a cluster, which tells clients to
// use them. They replicate to nobody then.
type links map[*redistest.Server]*redistest.Link

func linkMasters(t *testing.T, cluster *redistest.Cluster) links {
	t.Helper()
	all := links{}
	for _, master := range cluster.Masters(t) {
		all[master] = redistest.NewLink(t, master.Addr())
		cluster.Announce(t, master, all[master].Addr())
	}
	return all
}

func (l links) addrs() []string {
	var all []string
	for _, link := range l {
		all = append(all, link.Addr())
	}
	return all
}

func TestCluster_behindLinksThatFail(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	linked := linkMasters(t, cluster)
	t.Run("a lost reply is unknown, charged once, and sent to no node again", func(t *testing.T) { loseReplies(t, cluster, linked) })
	t.Run("scenarios, with the cluster gone and back", func(t *testing.T) { slidinglogtest.Run(t, onLinks(t, cluster, linked)) })
}

// A call that was sent again, to its owner or to another node, which sends it on to
// the owner, would be charged again.
func loseReplies(t *testing.T, cluster *redistest.Cluster, l links) {
	c := clusterConfig(cluster, time.Hour)
	c.Redis.Cluster, c.Redis.CommandTimeout, c.Redis.BreakerFailures = l.addrs(), 2*time.Second, never
	limiter := openReady(t, c)
	tenant := newTenant()
	user := tenant + ":user:ann"
	owner := cluster.OwnerOf(t, tenant)
	for name, lost := range map[string]redistest.Fault{
		"closed": redistest.LoseReply(), "reset": redistest.ResetAfter(), "half": redistest.HalfReply(), "silent": redistest.Silence(),
	} {
		l[owner].Fault("EVALSHA", 1, lost)
		if allowed, _, _, err := limiter.Dual().AllowDual(tenant, 50, user, 50); allowed || !errors.Is(err, slidinglog.ErrUnknown) {
			t.Errorf("%s: allowed %t, %v; want ErrUnknown", name, allowed, err)
		}
	}
	if outer, inner := logged(t, owner, tenant), logged(t, owner, user); outer != 4 || inner != 4 {
		t.Errorf("charged %d and %d for 4 calls, want 4 and 4", outer, inner)
	}
}

// onLinks makes one limiter for all checks, which come one after the other, and can
// take the cluster away from it.
func onLinks(t *testing.T, cluster *redistest.Cluster, l links) slidinglogtest.Harness {
	harness := onCluster(t, cluster)
	return slidinglogtest.Harness{New: func(t *testing.T, window time.Duration) slidinglogtest.Limiters {
		limiters := harness.New(t, window)
		limiters.Lose = func() (restore func()) {
			for _, link := range l {
				link.Refuse()
				link.Cut()
			}
			return func() {
				for _, link := range l {
					link.Heal()
				}
			}
		}
		return limiters
	}}
}
