package limiter_test

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limiter"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limitkey"
)

func keysOf(t testing.TB, b limitkey.Builder, p identity.Principal, client netip.Prefix) limitkey.Keys {
	t.Helper()
	keys, err := b.Keys(p, client)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func address(n int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}), 32)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestLocal_aMillionAddressesEvictNoTenant(t *testing.T) {
	const bound = 50_000
	l, _ := local(t, limiter.LocalConfig{MaxAddressKeys: bound})
	keys := limitkey.NewRandom()
	acme := keysOf(t, keys, identity.Principal{Tenant: "acme", User: "ann"}, netip.Prefix{})
	for range 3 {
		if allowed, _, _, err := l.Dual().AllowDual(acme.Outer, 3, acme.Inner, 3); !allowed {
			t.Fatalf("denied, %v", err)
		}
	}
	base := heap()
	for n := range 1_000_000 {
		if allowed, _, err := l.Allow(keysOf(t, keys, identity.Principal{}, address(n)).Outer, 30); !allowed {
			t.Fatalf("address %d: denied, %v", n, err)
		}
	}
	if n := l.Keys(); n > bound+2 {
		t.Errorf("%d keys, want at most %d", n, bound+2)
	}
	if grown := int64(heap()) - int64(base); grown > 300*bound {
		t.Errorf("the heap grew by %d bytes, want at most %d", grown, 300*bound)
	}
	if allowed, tenantLeft, userLeft, err := l.Dual().AllowDual(acme.Outer, 3, acme.Inner, 3); allowed || tenantLeft != 0 || userLeft != 0 || err != nil {
		t.Errorf("the full tenant: got %v, %d, %d, %v; want it to be full still", allowed, tenantLeft, userLeft, err)
	}
	runtime.KeepAlive(l)
}

func TestLocal_aFloodOfAddressesEvictsNobodyElse(t *testing.T) {
	l, _ := local(t, limiter.LocalConfig{Shards: 1, MaxKeys: 2, MaxAddressKeys: 4})
	full := func() bool {
		allowed, tenantLeft, userLeft, err := l.Dual().AllowDual("rl:{acme}", 2, "rl:{acme}:user:ann", 1)
		return err == nil && !allowed && tenantLeft == 1 && userLeft == 0
	}
	if full() {
		t.Fatal("denied")
	}
	for n := range 1000 {
		_, _, _ = l.Allow(fmt.Sprintf("rl:anon:%022d", n), 1)
	}
	if !full() {
		t.Error("the user or its tenant began afresh")
	}
	if n := l.Keys(); n != 2+4 {
		t.Errorf("%d keys, want 6", n)
	}
}

func TestLocal_aFloodOfUsersEvictsNoTenant(t *testing.T) {
	l, _ := local(t, limiter.LocalConfig{Shards: 1, MaxKeys: 8})
	if allowed, _, _ := l.Allow("rl:{quiet}", 1); !allowed {
		t.Fatal("denied")
	}
	for n := range 1000 {
		if allowed, _, _, err := l.Dual().AllowDual("rl:{loud}", 1000, fmt.Sprintf("rl:{loud}:user:%d", n), 1); !allowed {
			t.Fatalf("user %d: denied, %v", n, err)
		}
	}
	for _, tenant := range []string{"rl:{quiet}", "rl:{loud}"} {
		if allowed, _, _ := l.Allow(tenant, 1); allowed {
			t.Errorf("%s began afresh", tenant)
		}
	}
	if n := l.Keys(); n > 2+8 {
		t.Errorf("%d keys, want at most 10", n)
	}
}

func TestLocal_aKeyThatIsAskedForStays(t *testing.T) {
	l, _ := local(t, limiter.LocalConfig{Shards: 1, MaxKeys: 8})
	_, _, _ = l.Allow("rl:{full}", 1)
	for n := range 1000 {
		_, _, _ = l.Allow(fmt.Sprintf("rl:{%d}", n), 1)
		if allowed, _, _ := l.Allow("rl:{full}", 1); allowed {
			t.Fatalf("it began afresh after %d others, though it was asked for all the time", n)
		}
	}
}

func TestLocal_oneTenantMayFillTheRoomButTakesNoOthersPart(t *testing.T) {
	const room = 400
	l, _ := local(t, limiter.LocalConfig{Shards: 4, MaxKeys: room})
	dual := l.Dual()
	user := func(tenant string, n int) bool {
		allowed, _, _, err := dual.AllowDual(tenant, 1<<20, fmt.Sprintf("%s:user:%d", tenant, n), 1)
		if err != nil {
			t.Fatal(err)
		}
		return allowed
	}
	for n := range room {
		user("rl:{loud}", n)
	}
	for n := range room { // all were kept, though a shard's part is a quarter
		if user("rl:{loud}", room-1-n) {
			t.Fatalf("user %d began afresh in a room that nobody else used", room-1-n)
		}
	}
	var quiet []string
	for n := range 40 {
		if name := fmt.Sprintf("rl:{quiet-%d}", n); !l.SameShard(name, "rl:{loud}") {
			quiet = append(quiet, name)
			user(name, 0)
		}
	}
	for n := range 20 * room {
		user("rl:{loud}", n)
	}
	if users := l.Keys() - 1 - len(quiet); users != room {
		t.Errorf("%d users are kept, want as many as there is room for", users)
	}
	for _, name := range quiet {
		if user(name, 0) {
			t.Errorf("the user of %s began afresh", name)
		}
	}
}

func TestLocal_deniedCallsKeepNothing(t *testing.T) {
	l, _ := local(t, limiter.LocalConfig{})
	_, _, _ = l.Allow("rl:{full}", 1)
	for n := range 1000 {
		user := fmt.Sprintf("rl:{full}:user:%d", n)
		if allowed, _, _, _ := l.Dual().AllowDual("rl:{full}", 1, user, 5); allowed {
			t.Fatal("allowed")
		}
		_, _, _ = l.Allow(user, 0)
	}
	if l.Keys() != 1 || l.Calls() > 4 {
		t.Errorf("%d keys with memory for %d calls, want 1 key", l.Keys(), l.Calls())
	}
}

func TestLocal_logsAreBoundedTogether(t *testing.T) {
	const bound = 10_000
	l, hand := local(t, limiter.LocalConfig{Shards: 1, MaxCalls: bound})
	for tenant := range 100 {
		key := fmt.Sprintf("rl:{%d}", tenant)
		for range 1000 {
			hand.advance(time.Microsecond)
			if allowed, _, _ := l.Allow(key, 1000); !allowed {
				t.Fatal("denied")
			}
			if l.Calls() > bound {
				t.Fatalf("memory for %d calls, want at most %d", l.Calls(), bound)
			}
		}
	}
	if l.Keys() < 5 {
		t.Errorf("%d keys are left, want those that fit", l.Keys())
	}
	for range 2 * bound { // one log that is larger than the bound is kept whole
		if allowed, _, _ := l.Allow("rl:{huge}", 2*bound); !allowed {
			t.Fatal("denied")
		}
	}
	if allowed, _, _ := l.Allow("rl:{huge}", 2*bound); allowed || l.Keys() > 2 {
		t.Errorf("the log of a call under way was cut: allowed %v, %d keys", allowed, l.Keys())
	}
}

func TestLocal_aKeyIsNoViewOfTheCallersMemory(t *testing.T) {
	l, _ := local(t, limiter.LocalConfig{Shards: 1, MaxAddressKeys: 2000})
	base := heap()
	for n := range 1000 { // of each request, all but the key is garbage
		request := fmt.Sprintf("rl:anon:%022d", n) + string(make([]byte, 100_000))
		_, _, _ = l.Allow(request[:30], 1)
	}
	if grown := int64(heap()) - int64(base); grown > 10_000_000 {
		t.Errorf("the heap grew by %d bytes for 1,000 keys", grown)
	}
	runtime.KeepAlive(l)
}
