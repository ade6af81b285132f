//go:build cluster

package duallog_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/duallog"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog/slidinglogtest"
)

const (
	recovery = redistest.NodeTimeout + 1500*time.Millisecond
	patience = 15 * time.Second
)

// clusterConfig finds the cluster by its nodes, one of which may be gone.
func clusterConfig(cluster *redistest.Cluster, window time.Duration) duallog.Config {
	c := configFor("", window)
	c.Redis.Cluster = cluster.Addrs()
	return c
}

// openReady opens a limiter and waits until every slot is served.
func openReady(t *testing.T, c duallog.Config) *duallog.RedisLimiter {
	t.Helper()
	limiter := open(t, c)
	eventually(t, "be ready", func() bool { return limiter.Connection().Health().Ready })
	return limiter
}

func eventually(t *testing.T, what string, holds func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if time.Since(began) > patience {
			t.Fatalf("did not %s within %v", what, patience)
		}
		<-tick.C
	}
	return time.Since(began)
}

// onCluster makes limiters whose clock a check sets, all on one cluster.
func onCluster(cluster *redistest.Cluster) slidinglogtest.Harness {
	return slidinglogtest.Harness{New: func(t *testing.T, window time.Duration) slidinglogtest.Limiters {
		var now atomic.Int64
		limiter := openReady(t, clusterConfig(cluster, window))
		limiter.SetClock(now.Load)
		return slidinglogtest.Limiters{
			Single: limiter, Dual: limiter.Dual(), SetNow: now.Store,
			Drop: func(keys ...string) {
				for _, key := range keys {
					cluster.OwnerOf(t, key).Do(t, "DEL", key)
				}
			},
		}
	}}
}

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

func isMaster(t *testing.T, node *redistest.Server) bool {
	t.Helper()
	replication, _ := node.Do(t, "INFO", "replication").(string)
	return strings.Contains(replication, "role:master")
}

// reasonOf is the reason that an error gives, or "".
func reasonOf(err error) string {
	var reasoned interface{ Reason() string }
	if errors.As(err, &reasoned) {
		return reasoned.Reason()
	}
	return ""
}

func TestCluster(t *testing.T) {
	cluster := redistest.StartCluster(t)
	harness := onCluster(cluster)
	t.Run("scenarios", func(t *testing.T) { slidinglogtest.Run(t, harness) })
	t.Run("vectors", func(t *testing.T) { slidinglogtest.RunVectors(t, harness) })
	t.Run("both keys are of one slot, and one call charges both", func(t *testing.T) { chargeBoth(t, cluster) })
	t.Run("a migration under way", func(t *testing.T) { callUnderMigration(t, cluster) })
	t.Run("a migration under way, of neither key", func(t *testing.T) { callForNeitherKey(t, cluster) })
}

// The alternative, one call for the tenant and one for the user, would be needed if
// the two keys could fall into different slots. They cannot.
func chargeBoth(t *testing.T, cluster *redistest.Cluster) {
	limiter := openReady(t, clusterConfig(cluster, time.Hour)).Dual()
	hit := map[*redistest.Server]int{}
	for i := range 100 {
		tenant := fmt.Sprintf("rl:{tenant-%d}", i)
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

func callUnderMigration(t *testing.T, cluster *redistest.Cluster) {
	c := clusterConfig(cluster, time.Hour)
	c.Redis.CommandTimeout, c.Redis.BreakerFailures = 400*time.Millisecond, 2
	limiter := openReady(t, c)
	dual := limiter.Dual()

	const tenant = "rl:{acme}"
	user := func(name string) string { return tenant + ":user:" + name }
	call := func(name string) error {
		_, _, _, err := dual.AllowDual(tenant, 1000, user(name), 1000)
		return err
	}
	from := cluster.OwnerOf(t, tenant)
	to := cluster.Masters(t)[0]
	if to == from {
		to = cluster.Masters(t)[1]
	}
	expect := func(what string, at *redistest.Server, key string, want int64) {
		t.Helper()
		if got := logged(t, at, key); got != want {
			t.Errorf("%s: %s has charged %s %d times, want %d", what, at.Addr(), key, got, want)
		}
	}
	resharding := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, slidinglog.ErrUnavailable) || reasonOf(err) != "resharding" {
			t.Errorf("%s: got %v with reason %q, want ErrUnavailable with resharding", what, err, reasonOf(err))
		}
		if got := limiter.Connection().Breaker(); got != "closed" {
			t.Errorf("%s: the breaker is %s", what, got)
		}
	}
	for _, name := range []string{"ann", "bob"} {
		if err := call(name); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Migrate(t, tenant, from, to)

	if err := call("ann"); err != nil {
		t.Errorf("both keys here: %v", err)
	}
	expect("both keys here", from, tenant, 3)
	for range 3 {
		resharding("the user's key is missing", call("new"))
	}
	expect("the user's key is missing", from, tenant, 3)

	cluster.MoveKeys(t, from, to, tenant)
	for range 3 {
		resharding("the tenant moved alone", call("ann"))
	}
	if v, err := limiter.AllowContext(t.Context(), tenant, 1000); err != nil || v.Outer.Remaining != 996 {
		t.Errorf("the tenant moved alone, a call of it alone: remaining %d, %v; want 996 after ASK", v.Outer.Remaining, err)
	}
	resharding("both are missing, of which one moved", call("newer"))

	cluster.MoveKeys(t, from, to, user("ann"))
	if err := call("ann"); err != nil {
		t.Errorf("both moved: %v", err)
	}
	resharding("bob's key is still here and the tenant's there", call("bob"))

	// A call that comes while the keys are under way is answered when they are there.
	answered := make(chan error)
	go func() { answered <- call("bob") }()
	cluster.MoveKeys(t, from, to, user("bob"))
	if err := <-answered; err != nil {
		t.Errorf("moved under the call: %v", err)
	}

	cluster.EndMigration(t, tenant, to)
	if err := call("new"); err != nil {
		t.Errorf("after the migration: %v", err)
	}
	expect("in the end", to, tenant, 7)
	expect("in the end", to, user("ann"), 3)
	expect("in the end", to, user("bob"), 2)
	expect("in the end", to, user("new"), 1)
}

func callForNeitherKey(t *testing.T, cluster *redistest.Cluster) {
	c := clusterConfig(cluster, time.Hour)
	c.Redis.CommandTimeout = 200 * time.Millisecond
	limiter := openReady(t, c)
	const tenant, user = "rl:{fresh}", "rl:{fresh}:user:ann"
	from, to := cluster.OwnerOf(t, tenant), cluster.Masters(t)[0]
	if to == from {
		to = cluster.Masters(t)[1]
	}
	cluster.Migrate(t, tenant, from, to)
	if _, _, _, err := limiter.Dual().AllowDual(tenant, 5, user, 5); reasonOf(err) != "resharding" {
		t.Errorf("both missing: got %v, want resharding", err)
	}
	if allowed, _, err := limiter.Allow(tenant, 5); !allowed || err != nil {
		t.Errorf("one key is written where the slot goes: allowed %t, %v", allowed, err)
	}
	if _, _, _, err := limiter.Dual().AllowDual(tenant, 5, user, 5); reasonOf(err) != "resharding" {
		t.Errorf("the user's missing there: got %v, want resharding", err)
	}
	cluster.EndMigration(t, tenant, to)
	if allowed, _, _, err := limiter.Dual().AllowDual(tenant, 5, user, 5); !allowed || err != nil {
		t.Errorf("after the migration: allowed %t, %v", allowed, err)
	}
	if outer, inner := logged(t, to, tenant), logged(t, to, user); outer != 2 || inner != 1 {
		t.Errorf("charged %d and %d, want 2 and 1", outer, inner)
	}
}

// load calls for tenants of every master until stop, one caller each.
type load struct {
	limiter *duallog.RedisLimiter
	stop    chan struct{}
	callers sync.WaitGroup

	mu      sync.Mutex
	tenants map[string]*fate
}

// fate is what became of one tenant's calls.
type fate struct {
	allowed, unavailable, unknown int64
	lastFailure                   time.Time
	errs                          []string
}

func startLoad(limiter *duallog.RedisLimiter, tenants int) *load {
	l := &load{limiter: limiter, stop: make(chan struct{}), tenants: map[string]*fate{}}
	for i := range tenants {
		f, tenant := &fate{}, fmt.Sprintf("rl:{load-%d}", i)
		l.tenants[tenant] = f
		l.callers.Go(func() { l.call(tenant, f) })
	}
	return l
}

func (l *load) call(tenant string, f *fate) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
		}
		_, _, _, err := l.limiter.Dual().AllowDual(tenant, duallog.MaxLimit, tenant+":user:ann", duallog.MaxLimit)
		l.mu.Lock()
		switch {
		case err == nil:
			f.allowed++
		case errors.Is(err, slidinglog.ErrUnknown):
			f.unknown++
		default:
			f.unavailable++
		}
		if err != nil {
			f.lastFailure = time.Now()
			f.errs = append(f.errs, err.Error())
		}
		l.mu.Unlock()
	}
}

func (l *load) end() {
	close(l.stop)
	l.callers.Wait()
}

// failures are all errors, in words.
func (l *load) failures() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, f := range l.tenants {
		all = append(all, f.errs...)
	}
	return all
}

func TestCluster_aMasterThatIsLostCostsNoMoreThanItsFailover(t *testing.T) {
	t.Run("killed", func(t *testing.T) {
		loseMaster(t, func(master *redistest.Server) { master.Kill(t) }, func(*redistest.Server) {})
	})
	t.Run("frozen", func(t *testing.T) {
		loseMaster(t, func(master *redistest.Server) { master.Pause(t) }, func(master *redistest.Server) { master.Resume(t) })
	})
}

func loseMaster(t *testing.T, lose, after func(*redistest.Server)) {
	cluster := redistest.StartCluster(t)
	c := clusterConfig(cluster, time.Hour)
	c.Redis.CommandTimeout, c.Redis.BreakerProbeEvery = 300*time.Millisecond, time.Second
	limiter := openReady(t, c)
	load := startLoad(limiter, 12)
	<-time.After(300 * time.Millisecond)
	began := time.Now()
	lose(cluster.Nodes[0])
	eventually(t, "see that a master is gone", func() bool { return !limiter.Connection().Health().Ready })
	eventually(t, "fail over", func() bool { return isMaster(t, cluster.Nodes[3]) })
	for _, master := range cluster.Nodes[1:4] {
		eventually(t, "be ok", func() bool {
			info, _ := master.Do(t, "CLUSTER", "INFO").(string)
			return strings.Contains(info, "cluster_state:ok")
		})
	}
	recovered := time.Since(began)
	back := eventually(t, "be ready again", func() bool { return limiter.Connection().Health().Ready })
	<-time.After(500 * time.Millisecond)
	load.end()
	after(cluster.Nodes[0])
	cluster.AwaitOK(t)
	var last time.Duration
	for tenant, f := range load.tenants {
		last = max(last, f.lastFailure.Sub(began))
		owner := cluster.OwnerOf(t, tenant)
		// What the lost master acknowledged and had not told its replica is lost.
		const unreplicated = 5
		if got := logged(t, owner, tenant); got > f.allowed+f.unknown || got < f.allowed-unreplicated {
			t.Errorf("%s: charged %d, %d allowed, %d unknown", tenant, got, f.allowed, f.unknown)
		}
		if outer, inner := logged(t, owner, tenant), logged(t, owner, tenant+":user:ann"); outer != inner {
			t.Errorf("%s: charged %d to the tenant and %d to its user", tenant, outer, inner)
		}
	}
	t.Logf("the cluster was ok after %v, the last call failed after %v, the limiter was ready %v after the cluster", recovered, last, back)
	if last == 0 {
		t.Error("no call noticed the loss")
	}
	// The cluster itself may be late on a machine that is.
	if limit := max(recovery, recovered+500*time.Millisecond); last > limit {
		t.Errorf("calls failed for %v, want at most %v; the last errors %q", last, limit, load.failures()[max(0, len(load.failures())-5):])
	}
}

func TestCluster_aPlannedFailoverFailsNoCall(t *testing.T) {
	cluster := redistest.StartCluster(t)
	limiter := openReady(t, clusterConfig(cluster, time.Hour))
	load := startLoad(limiter, 12)
	for _, replica := range cluster.Nodes[3:] {
		if got := replica.Do(t, "CLUSTER", "FAILOVER"); got != "OK" {
			t.Fatalf("CLUSTER FAILOVER: %v", got)
		}
		eventually(t, "fail over", func() bool { return isMaster(t, replica) })
		<-time.After(200 * time.Millisecond)
	}
	load.end()
	if failures := load.failures(); len(failures) > 0 {
		t.Errorf("%d calls failed, the first with %q", len(failures), failures[0])
	}
	cluster.AwaitOK(t)
	for tenant, f := range load.tenants {
		if got := logged(t, cluster.OwnerOf(t, tenant), tenant); got != f.allowed {
			t.Errorf("%s: charged %d, want %d", tenant, got, f.allowed)
		}
	}
}

func TestCluster_aLostReplyIsUnknownAndChargedOnce(t *testing.T) {
	cluster := redistest.StartCluster(t)
	const tenant, user = "rl:{acme}", "rl:{acme}:user:ann"
	owner := cluster.OwnerOf(t, tenant)
	link := redistest.NewLink(t, owner.Addr())
	cluster.Announce(t, owner, link.Addr())
	c := clusterConfig(cluster, time.Hour)
	c.Redis.CommandTimeout = time.Second
	limiter := openReady(t, c)
	for name, lost := range map[string]redistest.Fault{"closed": redistest.LoseReply(), "reset": redistest.ResetAfter(), "silent": redistest.Silence()} {
		before := link.Forwarded("EVALSHA")
		link.Fault("EVALSHA", 1, lost)
		if _, _, _, err := limiter.Dual().AllowDual(tenant, 50, user, 50); !errors.Is(err, slidinglog.ErrUnknown) {
			t.Errorf("%s: got %v, want ErrUnknown", name, err)
		}
		if got := link.Forwarded("EVALSHA") - before; got != 1 {
			t.Errorf("%s: sent %d times, want once", name, got)
		}
	}
	if outer, inner := logged(t, owner, tenant), logged(t, owner, user); outer != 3 || inner != 3 {
		t.Errorf("charged %d and %d for 3 calls, want 3 and 3", outer, inner)
	}
}
