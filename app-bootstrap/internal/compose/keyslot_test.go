package compose_test

import (
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limitkey"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// hostileID is up to twelve pieces of what ids and keys are told apart by.
func hostileID(random *rand.Rand) string {
	pieces := []string{"a", "b", "{", "}", ":", "%", "%7D", "\x00", "\n", "\xff", "é", " ", ":user:", ":key:", "rl:", "anon"}
	var id strings.Builder
	for range 1 + random.IntN(12) {
		id.WriteString(pieces[random.IntN(len(pieces))])
	}
	return id.String()
}

// TestKeySlot_bothKeysOfAPrincipalAreOfOneSlot asks Redis itself. A node of a
// cluster of one knows the slot of every key.
func TestKeySlot_bothKeysOfAPrincipalAreOfOneSlot(t *testing.T) {
	const principals = 5000
	keys, random := limitkey.NewRandom(), rand.New(rand.NewPCG(4, 1))
	var asked []string
	for range principals {
		p := identity.Principal{Tenant: hostileID(random), User: hostileID(random)}
		if random.IntN(2) == 0 {
			p.User, p.Key = "", p.User
		}
		k, err := keys.Keys(p, netip.Prefix{})
		if err != nil {
			t.Fatalf("%q: %v", p, err)
		}
		asked = append(asked, k.Outer, k.Inner)
	}
	slots, used := slotsOf(t, asked), map[int64]bool{}
	for i := 0; i < len(asked); i += 2 {
		if slots[i] != slots[i+1] {
			t.Errorf("%s is of slot %d, %s of %d", asked[i], slots[i], asked[i+1], slots[i+1])
		}
		used[slots[i]] = true
	}
	if len(used) < principals/4 {
		t.Errorf("%d tenants are of %d slots, want them spread", principals, len(used))
	}
}

func slotsOf(t *testing.T, keys []string) []int64 {
	t.Helper()
	bus, err := net.Listen("tcp", "127.0.0.1:0") // the default is a port that may not exist
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(bus.Addr().String())
	_ = bus.Close()
	server := redistest.Start(t, "--cluster-enabled", "yes", "--cluster-port", port)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = client.Close() }()
	replies, err := client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for _, key := range keys {
			p.ClusterKeySlot(t.Context(), key)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slots := make([]int64, len(replies))
	for i, reply := range replies {
		slots[i] = reply.(*redis.IntCmd).Val()
	}
	return slots
}
