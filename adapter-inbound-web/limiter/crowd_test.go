package limiter_test

import (
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limiter"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limitkey"
)

// atOnce runs n goroutines that begin together.
func atOnce(n int, do func(i int)) {
	var wg sync.WaitGroup
	barrier := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-barrier
			do(i)
		})
	}
	close(barrier)
	wg.Wait()
}

func TestLocal_ofManyFirstCallsOneIsAllowed(t *testing.T) {
	l, _ := local(t, limiter.LocalConfig{Shards: 1, MaxKeys: 8, MaxAddressKeys: 8})
	for round := range 1000 {
		key := fmt.Sprintf("rl:{new-%d}", round)
		var allowed atomic.Int64
		atOnce(200, func(int) {
			if ok, _, _ := l.Allow(key, 1); ok {
				allowed.Add(1)
			}
		})
		if n := allowed.Load(); n != 1 {
			t.Fatalf("%s: %d allowed, want 1", key, n)
		}
	}
	if n := l.Keys(); n != 8 {
		t.Errorf("%d keys, want 8", n)
	}
}

// TestLocal_aCallHoldsUpNoOtherShard stops one call inside its shard, where it asks
// for the time. A lock of all shards would hold up all others.
func TestLocal_aCallHoldsUpNoOtherShard(t *testing.T) {
	var stopped atomic.Bool
	inside, proceed := make(chan struct{}), make(chan struct{})
	l, _ := local(t, limiter.LocalConfig{Clock: func() int64 {
		if stopped.CompareAndSwap(false, true) {
			close(inside)
			<-proceed
		}
		return 0
	}})
	var slow sync.WaitGroup
	slow.Go(func() { _, _, _ = l.Allow("rl:{slow}", 1) })
	<-inside
	elsewhere := 0
	for n := range 200 {
		tenant := fmt.Sprintf("rl:{%d}", n)
		if l.SameShard(tenant, "rl:{slow}") {
			continue
		}
		elsewhere++ // would never return under a lock of all
		if allowed, _, _, err := l.Dual().AllowDual(tenant, 1, tenant+":user:ann", 1); !allowed {
			t.Errorf("%s: denied, %v", tenant, err)
		}
	}
	close(proceed)
	slow.Wait()
	if elsewhere < 100 {
		t.Errorf("%d of 200 tenants are in other shards, want nearly all", elsewhere)
	}
}

func TestLocal_manyKeysAtOnceEachCountTheirOwn(t *testing.T) {
	const goroutines, each = 64, 1000
	l, _ := local(t, limiter.LocalConfig{})
	keys := limitkey.NewRandom()
	atOnce(goroutines, func(g int) {
		for n := range each {
			p := identity.Principal{Tenant: fmt.Sprintf("t%d", g), User: fmt.Sprintf("u%d", n)}
			k, err := keys.Keys(p, netip.Prefix{})
			if err != nil {
				t.Error(err)
				return
			}
			var allowed int
			for range 4 {
				if ok, _, _, _ := l.Dual().AllowDual(k.Outer, 1<<20, k.Inner, 3); ok {
					allowed++
				}
			}
			if allowed != 3 {
				t.Errorf("%s: %d allowed, want 3", k.Inner, allowed)
			}
		}
	})
	if n := l.Keys(); n != goroutines*each+goroutines {
		t.Errorf("%d keys, want %d", n, goroutines*each+goroutines)
	}
}
