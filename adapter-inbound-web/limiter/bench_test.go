package limiter_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limiter"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limitkey"
)

func TestLocal_steadyStateAllocatesNothing(t *testing.T) {
	l, hand := local(t, limiter.LocalConfig{Window: time.Second})
	dual := l.Dual()
	call := func() {
		hand.advance(10 * time.Millisecond)
		_, _, _ = l.Allow("rl:anon:a", 1000)
		_, _, _, _ = dual.AllowDual("rl:{acme}", 1000, "rl:{acme}:user:ann", 1000)
		_, _, _ = l.Allow("rl:{acme}", 1) // denied
	}
	for range 200 {
		call()
	}
	if got := testing.AllocsPerRun(1000, call); got != 0 {
		t.Errorf("%v allocations, want none", got)
	}
}

// names are keys of n tenants, each with one user.
func names(n int) (tenants, users []string) {
	for i := range n {
		tenants = append(tenants, fmt.Sprintf("rl:{tenant-%d}", i))
		users = append(users, tenants[i]+":user:ann")
	}
	return tenants, users
}

// BenchmarkCall is calls that are all allowed, while the clock goes as fast as they
// come, or all denied, while it stands still. With many tenants each call meets
// cold memory.
func BenchmarkCall(b *testing.B) {
	for _, tenants := range []int{1, 1000, 200_000} {
		for _, kind := range []struct {
			name   string
			limit  int
			stride int64
			dual   bool
		}{
			{"allowed, one layer", 1000, 10_000, false},
			{"allowed, two layers", 1000, 10_000, true},
			{"denied, one layer", 1, 0, false},
			{"denied, two layers", 1, 0, true},
		} {
			b.Run(fmt.Sprintf("%d tenants, %s", tenants, kind.name), func(b *testing.B) {
				var micros int64
				clock := func() int64 { micros += kind.stride; return micros }
				l, _ := local(b, limiter.LocalConfig{Window: time.Second, MaxKeys: 1 << 20, Clock: clock})
				dual := l.Dual()
				keys, users := names(tenants)
				for i := range keys {
					_, _, _, _ = dual.AllowDual(keys[i], 1, users[i], 1)
				}
				b.ReportAllocs()
				for i := 0; b.Loop(); i = (i + 7919) % tenants {
					if kind.dual {
						_, _, _, _ = dual.AllowDual(keys[i], kind.limit, users[i], kind.limit)
					} else {
						_, _, _ = l.Allow(keys[i], kind.limit)
					}
				}
			})
		}
	}
}

// BenchmarkShards is calls of many tenants from all processors at once. In one
// shard they wait for one lock.
func BenchmarkShards(b *testing.B) {
	const tenants = 1000
	keys, users := names(tenants)
	for _, shards := range []int{1, limiter.DefaultShards} {
		b.Run(fmt.Sprintf("%d shards", shards), func(b *testing.B) {
			l, err := limiter.NewLocalLimiter(limiter.LocalConfig{Shards: shards})
			if err != nil {
				b.Fatal(err)
			}
			dual := l.Dual()
			var next atomic.Int64
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for i := int(next.Add(7919)); pb.Next(); i++ {
					_, _, _, _ = dual.AllowDual(keys[i%tenants], 600, users[i%tenants], 60)
				}
			})
		})
	}
}

// BenchmarkMemory reports what a key costs, of a million addresses with one call
// each.
func BenchmarkMemory(b *testing.B) {
	const addresses = 1_000_000
	keys := limitkey.NewRandom()
	for b.Loop() {
		l, _ := local(b, limiter.LocalConfig{MaxAddressKeys: 2 * addresses})
		base := heap()
		for n := range addresses {
			if allowed, _, err := l.Allow(keysOf(b, keys, identity.Principal{}, address(n)).Outer, 30); !allowed {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(heap()-base)/addresses, "B/key")
		runtime.KeepAlive(l)
	}
}
