package duallog_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/duallog"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

func TestKeys_bothLiveForTheWindowRoundedUpAndASecond(t *testing.T) {
	server := redistest.Start(t)
	for window, lifeMillis := range map[time.Duration]int64{
		time.Hour: 3_601_000, time.Minute: 61_000, 1500 * time.Microsecond: 1002, time.Microsecond: 1001,
		366 * 24 * time.Hour: 31_622_401_000,
	} {
		r, who := newRig(t, server, func(c *duallog.Config) { c.Window = window }), newSubject()
		for range 3 {
			before := r.serverMicros() / 1000
			if got := r.ask(dual, who); !strings.HasPrefix(got, "allowed") {
				t.Errorf("window %v: got %s", window, got)
			}
			tenant, user := r.do("PEXPIRETIME", who.tenant).(int64), r.do("PEXPIRETIME", who.user).(int64)
			after := r.serverMicros()/1000 + 1
			for _, at := range []int64{tenant, user} {
				if at > 0 && (at < before+lifeMillis || at > after+lifeMillis) {
					t.Errorf("window %v: expires at %d, want %d after a call between %d and %d", window, at, lifeMillis, before, after)
				}
			}
			if lifeMillis > 60_000 && (tenant <= 0 || user <= 0) {
				t.Errorf("window %v: no lifetime: %d, %d", window, tenant, user)
			}
		}
		r.demandLifetimes()
	}
}

func TestKeys_aDenialWritesNothingAndRenewsNoLifetime(t *testing.T) {
	r := newRig(t, redistest.Start(t))
	now, long := r.serverMicros(), 2*time.Hour.Microseconds()
	ask := func(who subject, tenantLimit, userLimit int) string {
		return say(r.limiter.Dual().AllowDualContext(t.Context(), who.tenant, tenantLimit, who.user, userLimit))
	}
	for sentence, row := range map[string]struct {
		tenantLimit, userLimit int
		want                   string
	}{
		"the tenant is full":          {1, 5, "denied 0 4"},
		"the user is full":            {5, 1, "denied 4 0"},
		"both are full":               {1, 1, "denied 0 0"},
		"the tenant may call nothing": {0, 5, "denied 0 4"},
		"the user may call nothing":   {5, 0, "denied 4 0"},
	} {
		who := newSubject()
		r.plant(who.tenant, now-long, now-long, now-1000)
		r.plant(who.user, now-long, now-2000)
		tenant, user, changes := r.content(who.tenant), r.content(who.user), r.changes()
		for range 3 {
			if got := ask(who, row.tenantLimit, row.userLimit); got != row.want {
				t.Errorf("%s: got %s, want %s", sentence, got, row.want)
			}
		}
		if got := r.content(who.tenant); got != tenant {
			t.Errorf("%s: the tenant's became %s, was %s", sentence, got, tenant)
		}
		if got := r.content(who.user); got != user {
			t.Errorf("%s: the user's became %s, was %s", sentence, got, user)
		}
		if got := r.changes(); got != changes {
			t.Errorf("%s: the server counts %s changes, was %s", sentence, got, changes)
		}
	}
}

// changes is how many writes the server has counted.
func (r *rig) changes() string {
	r.t.Helper()
	_, after, _ := strings.Cut(r.do("INFO", "persistence").(string), "rdb_changes_since_last_save:")
	changes, _, _ := strings.Cut(after, "\r\n")
	return changes
}

// Calls of one microsecond, and of a clock that steps back, are members of their
// own: none takes another's place.
func TestKeys_noTwoCallsAreOneMember(t *testing.T) {
	r, who := newRig(t, redistest.Start(t)), newSubject()
	var now atomic.Int64
	r.limiter.SetClock(now.Load)
	const start, each = 1_767_225_600_123_457, 12
	tenant, user := 0, 0
	for _, at := range []int64{start, start - 1, start - r.config.Window.Microseconds(), start, start + 1, start, start + 1} {
		now.Store(at)
		for n := range each {
			f := forms[n%2]
			tenant++
			if f.name == dual.name {
				user++
			}
			r.expect(f, who, allowed(f, tenant, user))
			r.expectCharged(who, tenant, user)
		}
	}
}

// A log holds no more than what counts: each allowed call drops what does not.
func TestKeys_aLogHoldsAtMostItsLimit(t *testing.T) {
	r, who := newRig(t, redistest.Start(t)), newSubject()
	var now atomic.Int64
	now.Store(1_767_225_600_123_457)
	r.limiter.SetClock(now.Load)
	const limit = 5
	for n := range 60 {
		now.Add(r.config.Window.Microseconds()/limit + int64(n%3) - 1)
		if _, err := r.limiter.Dual().AllowDualContext(t.Context(), who.tenant, limit, who.user, limit); err != nil {
			t.Fatal(err)
		}
		if tenant, user := cardinality(t, r.server, who.tenant), cardinality(t, r.server, who.user); tenant > limit || user > limit {
			t.Fatalf("call %d: the logs hold %d and %d calls, want %d at most", n, tenant, user, limit)
		}
	}
}

// The production clock is the server's, to the microsecond.
func TestKeys_aCallCountsAtTheServersTime(t *testing.T) {
	r, who := newRig(t, redistest.Start(t)), newSubject()
	for n := range 20 {
		before := r.serverMicros()
		r.expect(dual, who, allowed(dual, n+1, n+1))
		after := r.serverMicros()
		for _, key := range []string{who.tenant, who.user} {
			newest := r.do("ZREVRANGE", key, "0", "0", "WITHSCORES").([]any)
			at, err := strconv.ParseInt(newest[1].(string), 10, 64)
			if err != nil || at < before || at > after {
				t.Errorf("%s: counted at %v, want %d to %d", key, newest[1], before, after)
			}
		}
	}
}

// hostile are bytes that would end a tag, a key or a line.
const hostile = "{}:%\x00\n\r \t*?[]\\\"'/\xff\xc3\x28\u2603azAZ09-._~"

// escaped is an id as it stands in a key: all but the unreserved bytes as upper-case
// hex.
func escaped(id []byte) string {
	var b strings.Builder
	for _, c := range id {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// TestKeys_ofOneTenantAreOfOneSlot asks a server for the slots of whole keys with
// hostile ids, and demands that nobody refuses the pair.
func TestKeys_ofOneTenantAreOfOneSlot(t *testing.T) {
	const pairs = 4000
	ctx, random := context.Background(), rand.New(rand.NewPCG(7, 1))
	client := redis.NewClient(&redis.Options{Addr: startClusterNode(t).Addr(), MaxRetries: -1, DisableIdentity: true})
	defer func() { _ = client.Close() }()
	id := func() []byte {
		bytes := make([]byte, 1+random.IntN(24))
		for i := range bytes {
			bytes[i] = hostile[random.IntN(len(hostile))]
			if random.IntN(4) == 0 {
				bytes[i] = byte(random.IntN(256))
			}
		}
		return bytes
	}
	var tenants, users []string
	pipe := client.Pipeline()
	var slots []*redis.IntCmd
	for n := range pairs {
		tenant := "rl:{" + escaped(id()) + "}"
		user := tenant + []string{":user:", ":key:"}[n%2] + escaped(id())
		tenants, users = append(tenants, tenant), append(users, user)
		slots = append(slots, pipe.ClusterKeySlot(ctx, tenant), pipe.ClusterKeySlot(ctx, user))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		t.Fatal(err)
	}
	seen := map[int64]bool{}
	for n := range pairs {
		slot, other := slots[2*n].Val(), slots[2*n+1].Val()
		if own := int64(coordination.Slot(tenants[n])); slot != other || slot != own || own != int64(coordination.Slot(users[n])) {
			t.Fatalf("%s is in slot %d and %s in %d; own reckoning %d and %d", tenants[n], slot, users[n], other, own, coordination.Slot(users[n]))
		}
		if err := slidinglog.CheckDual(tenants[n], 1, users[n], 1); err != nil {
			t.Fatal(err)
		}
		seen[slot] = true
	}
	if len(seen) < 2000 {
		t.Errorf("%d tenants are spread over %d slots", pairs, len(seen))
	}
}

// startClusterNode is a server that knows slots, without a cluster.
func startClusterNode(t *testing.T) *redistest.Server {
	t.Helper()
	_, port, _ := strings.Cut(redistest.Absent(t).Addr(), ":")
	return redistest.Start(t, "--cluster-enabled", "yes", "--cluster-port", port)
}
