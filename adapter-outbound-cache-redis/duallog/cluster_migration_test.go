//go:build cluster

package duallog_test

import (
	"errors"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/duallog"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// migration is a tenant whose slot is on its way, and a limiter with a breaker that
// one failure opens and nothing closes in time.
type migration struct {
	t        *testing.T
	cluster  *redistest.Cluster
	limiter  *duallog.RedisLimiter
	tenant   string
	from, to *redistest.Server
}

func newMigration(t *testing.T, cluster *redistest.Cluster) *migration {
	t.Helper()
	c := clusterConfig(cluster, time.Hour)
	c.Redis.CommandTimeout, c.Redis.BreakerFailures, c.Redis.BreakerProbeEvery = 2*time.Second, 1, time.Hour
	m := &migration{t: t, cluster: cluster, limiter: openReady(t, c), tenant: newTenant()}
	m.from, m.to = cluster.OwnerOf(t, m.tenant), cluster.Masters(t)[0]
	if m.to == m.from {
		m.to = cluster.Masters(t)[1]
	}
	return m
}

func (m *migration) user(name string) string { return m.tenant + ":user:" + name }

func (m *migration) begin()          { m.cluster.Migrate(m.t, m.tenant, m.from, m.to) }
func (m *migration) end()            { m.cluster.EndMigration(m.t, m.tenant, m.to) }
func (m *migration) move(key string) { m.cluster.MoveKeys(m.t, m.from, m.to, key) }

// dual makes a call of the tenant and one of its users, which must not allow with
// an error.
func (m *migration) dual(name string) error {
	m.t.Helper()
	allowed, _, _, err := m.limiter.Dual().AllowDual(m.tenant, 1000, m.user(name), 1000)
	if allowed != (err == nil) {
		m.t.Errorf("%s: allowed %t with error %v", name, allowed, err)
	}
	return err
}

func (m *migration) served(what, name string) {
	m.t.Helper()
	if err := m.dual(name); err != nil {
		m.t.Errorf("%s: %v", what, err)
	}
}

func (m *migration) single(what string, remaining int) {
	m.t.Helper()
	if allowed, got, err := m.limiter.Allow(m.tenant, 1000); !allowed || err != nil || got != remaining {
		m.t.Errorf("%s: allowed %t, remaining %d, %v; want %d remaining", what, allowed, got, err, remaining)
	}
}

// resharding makes a call that must be refused for that, count so, and leave the
// breaker closed.
func (m *migration) resharding(what, name string) {
	m.t.Helper()
	before := m.limiter.Connection().Stats().Resharding
	err := m.dual(name)
	if !errors.Is(err, slidinglog.ErrUnavailable) || slidinglog.Reason(err) != "resharding" || !slidinglog.IsOutage(err) {
		m.t.Errorf("%s: got %v with reason %q, want ErrUnavailable with resharding", what, err, slidinglog.Reason(err))
	}
	after := m.limiter.Connection().Stats().Resharding
	if after.Calls != before.Calls+1 || after.Met != before.Met+1 || after.Refused != before.Refused+1 {
		m.t.Errorf("%s: counted %+v after %+v", what, after, before)
	}
	if got := m.limiter.Connection().Breaker(); got != "closed" {
		m.t.Errorf("%s: the breaker is %s", what, got)
	}
}

// charged demands what both masters together hold of key, which one of them has.
func (m *migration) charged(what string, at *redistest.Server, key string, want int64) {
	m.t.Helper()
	if got := logged(m.t, at, key); got != want {
		m.t.Errorf("%s: %s holds %d calls of %s, want %d", what, at.Addr(), got, key, want)
	}
}

func callUnderMigration(t *testing.T, m *migration) {
	for _, name := range []string{"ann", "bob"} {
		m.served("before", name)
	}
	m.begin()

	m.served("both keys here", "ann")
	m.charged("both keys here", m.from, m.tenant, 3)
	m.charged("both keys here", m.from, m.user("ann"), 2)
	m.resharding("the user's key is missing", "new")
	m.charged("the user's key is missing", m.from, m.tenant, 3)

	m.move(m.tenant)
	m.resharding("the tenant moved alone", "ann")
	m.single("the tenant moved alone, a call of it alone, by ASK", 996)
	m.resharding("both are missing here, of which the tenant's moved", "newer")

	m.move(m.user("ann"))
	m.served("both moved, by ASK", "ann")
	m.resharding("bob's key is still here and the tenant's there", "bob")

	// A call that comes while the keys are under way is answered when they are there.
	answered := make(chan error)
	go func() { answered <- m.dual("bob") }()
	m.move(m.user("bob"))
	if err := <-answered; err != nil {
		t.Errorf("moved under the call: %v", err)
	}

	m.end()
	m.served("after the migration, by MOVED", "new")
	m.charged("in the end", m.to, m.tenant, 7)
	m.charged("in the end", m.to, m.user("ann"), 3)
	m.charged("in the end", m.to, m.user("bob"), 2)
	m.charged("in the end", m.to, m.user("new"), 1)
	m.charged("in the end", m.to, m.user("newer"), 0)
}

func callForMissingKeys(t *testing.T, m *migration) {
	m.begin()
	m.resharding("both missing, here and there", "ann")
	m.single("one key is written where the slot goes", 999)
	m.resharding("the user's is missing there", "ann")
	m.end()
	m.served("after the migration", "ann")
	m.charged("in the end", m.to, m.tenant, 2)
	m.charged("in the end", m.to, m.user("ann"), 1)
}

// A call of one layer has one key: it is where that key is or is to be, always.
func callOneLayerUnderMigration(t *testing.T, m *migration) {
	before := m.limiter.Connection().Stats().Resharding
	m.single("before", 999)
	m.begin()
	m.single("its key here", 998)
	m.charged("its key here", m.from, m.tenant, 2)
	m.move(m.tenant)
	m.single("its key moved, by ASK", 997)
	m.end()
	m.single("after the migration, by MOVED", 996)
	m.charged("in the end", m.to, m.tenant, 4)

	m.from, m.to = m.to, m.from
	if reply := m.from.Do(t, "DEL", m.tenant); reply != int64(1) {
		t.Fatalf("DEL: %v", reply)
	}
	m.begin()
	m.single("its key missing, by ASK", 999)
	m.end()
	m.charged("back again", m.to, m.tenant, 1)
	if after := m.limiter.Connection().Stats().Resharding; after.Met != before.Met {
		t.Errorf("calls of one layer met %d moving keys, want none", after.Met-before.Met)
	}
}
