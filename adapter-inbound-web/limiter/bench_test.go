package limiter_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/limiter"
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

func benchmark(b *testing.B, tenants int, call func(l *limiter.LocalLimiter, tenant, user string)) {
	l, err := limiter.NewLocalLimiter(limiter.LocalConfig{})
	if err != nil {
		b.Fatal(err)
	}
	keys, users := names(tenants)
	var next atomic.Int64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := int(next.Add(7919)); pb.Next(); i++ {
			call(l, keys[i%tenants], users[i%tenants])
		}
	})
}

func BenchmarkAllow(b *testing.B) {
	for _, tenants := range []int{1, 1000} {
		for name, limit := range map[string]int{"mostly denied": 60, "limit 0": 0} {
			b.Run(fmt.Sprintf("%d tenants, %s", tenants, name), func(b *testing.B) {
				benchmark(b, tenants, func(l *limiter.LocalLimiter, tenant, _ string) { _, _, _ = l.Allow(tenant, limit) })
			})
		}
	}
}

func BenchmarkAllowDual(b *testing.B) {
	for _, tenants := range []int{1, 1000} {
		b.Run(fmt.Sprintf("%d tenants, mostly denied", tenants), func(b *testing.B) {
			benchmark(b, tenants, func(l *limiter.LocalLimiter, tenant, user string) {
				_, _, _, _ = l.Dual().AllowDual(tenant, 600, user, 60)
			})
		})
	}
}

// BenchmarkAllowed is calls that are all counted: the clock goes as fast as they come.
func BenchmarkAllowed(b *testing.B) {
	var micros atomic.Int64
	l, err := limiter.NewLocalLimiter(limiter.LocalConfig{Window: time.Second, Clock: func() int64 { return micros.Add(10_000) }})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		_, _, _, _ = l.Dual().AllowDual("rl:{acme}", 600, "rl:{acme}:user:ann", 600)
	}
}
