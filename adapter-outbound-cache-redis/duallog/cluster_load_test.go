//go:build cluster

package duallog_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/duallog"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// load calls for tenants until it ends. Each caller goes round some users of one
// tenant.
type load struct {
	limiter *duallog.RedisLimiter
	stop    chan struct{}
	ending  sync.Once
	callers sync.WaitGroup

	mu    sync.Mutex
	users map[string]map[string]*fate // by the keys of tenant and user
}

// fate is what became of the calls of one user.
type fate struct {
	allowed, unavailable, unknown int64
	lastFailure                   time.Time
	errs                          []error
}

const loadEvery = 2 * time.Millisecond

// startLoad begins with so many callers of each tenant, each of so many users.
func startLoad(t *testing.T, limiter *duallog.RedisLimiter, tenants []string, callers, users int) *load {
	l := &load{limiter: limiter, stop: make(chan struct{}), users: map[string]map[string]*fate{}}
	for _, tenant := range tenants {
		l.users[tenant] = map[string]*fate{}
		for i := range callers * users {
			l.users[tenant][tenant+":user:"+strconv.Itoa(i)] = &fate{}
		}
	}
	for tenant, fates := range l.users {
		for own := range slices.Chunk(slices.Collect(maps.Keys(fates)), users) {
			l.callers.Go(func() { l.call(tenant, own, fates) })
		}
	}
	t.Cleanup(l.end)
	return l
}

func (l *load) call(tenant string, users []string, fates map[string]*fate) {
	tick := time.NewTicker(loadEvery)
	defer tick.Stop()
	for {
		for _, user := range users {
			select {
			case <-l.stop:
				return
			case <-tick.C:
			}
			allowed, _, _, err := l.limiter.Dual().AllowDual(tenant, duallog.MaxLimit, user, duallog.MaxLimit)
			l.note(fates[user], allowed, err)
		}
	}
}

func (l *load) note(f *fate, allowed bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case allowed && err == nil:
		f.allowed++
		return
	case err == nil:
		err = errors.New("denied below the limit")
	case allowed:
		err = errors.Join(errors.New("a failure allows"), err)
	case errors.Is(err, slidinglog.ErrUnknown):
		f.unknown++
	default:
		f.unavailable++
	}
	f.lastFailure = time.Now()
	f.errs = append(f.errs, err)
}

// allowed is how many calls of each tenant have been.
func (l *load) allowed() map[string]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]int64{}
	for tenant, fates := range l.users {
		for _, f := range fates {
			all[tenant] += f.allowed
		}
	}
	return all
}

// goOn waits until so many more calls of each tenant have been allowed.
func (l *load) goOn(t *testing.T, calls int64) {
	t.Helper()
	before := l.allowed()
	comes(t, "allow calls of each tenant", func() bool {
		for tenant, now := range l.allowed() {
			if now < before[tenant]+calls {
				return false
			}
		}
		return true
	})
}

func (l *load) end() {
	l.ending.Do(func() { close(l.stop) })
	l.callers.Wait()
}

// each visits all users, once the load has ended.
func (l *load) each(visit func(tenant, user string, f *fate)) {
	for tenant, fates := range l.users {
		for user, f := range fates {
			visit(tenant, user, f)
		}
	}
}

// failures are all errors.
func (l *load) failures() []error {
	var all []error
	l.each(func(_, _ string, f *fate) { all = append(all, f.errs...) })
	return all
}

// lastFailure is when the last call failed; zero is none.
func (l *load) lastFailure() time.Time {
	var last time.Time
	l.each(func(_, _ string, f *fate) {
		if f.lastFailure.After(last) {
			last = f.lastFailure
		}
	})
	return last
}

// sums are what became of all calls, in words.
func (l *load) sums() string {
	var sum fate
	l.each(func(_, _ string, f *fate) {
		sum.allowed, sum.unavailable, sum.unknown = sum.allowed+f.allowed, sum.unavailable+f.unavailable, sum.unknown+f.unknown
	})
	return fmt.Sprintf("%d calls were allowed, %d unavailable and %d unknown", sum.allowed, sum.unavailable, sum.unknown)
}

// lost bounds what a master that died may have acknowledged to one user and told
// no replica.
const (
	nothing      = 0
	unreplicated = 5
)

// demandCharges fails if a call was charged twice, or to one layer alone, or
// although it was refused, or not although it was allowed, but for those lost.
func (l *load) demandCharges(t *testing.T, cluster *redistest.Cluster, lost int64) {
	t.Helper()
	charged := map[string]int64{}
	l.each(func(tenant, user string, f *fate) {
		got := logged(t, cluster.OwnerOf(t, user), user)
		if got > f.allowed+f.unknown || got < f.allowed-lost {
			t.Errorf("%s: charged %d, of %d allowed, %d unknown and %d unavailable", user, got, f.allowed, f.unknown, f.unavailable)
		}
		charged[tenant] += got
	})
	for tenant, want := range charged {
		if got := logged(t, cluster.OwnerOf(t, tenant), tenant); got != want {
			t.Errorf("%s: charged %d, and its users %d", tenant, got, want)
		}
	}
}

func tenants(n int) []string {
	var all []string
	for range n {
		all = append(all, newTenant())
	}
	return all
}
