package limitkey_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limitkey"
	"github.com/edgelimit/edgelimit/shared-contract/secret"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

func builder(t testing.TB) limitkey.Builder {
	t.Helper()
	s, err := secret.New(bytes.Repeat([]byte("k"), secret.MinLen))
	if err != nil {
		t.Fatal(err)
	}
	return limitkey.New(s)
}

func TestKeys_ofPrincipals(t *testing.T) {
	for _, row := range []struct {
		principal    identity.Principal
		outer, inner string
	}{
		{identity.Principal{Tenant: "acme"}, "rl:{acme}", ""},
		{identity.Principal{Tenant: "acme", User: "ann"}, "rl:{acme}", "rl:{acme}:user:ann"},
		{identity.Principal{Tenant: "acme", Key: "ann"}, "rl:{acme}", "rl:{acme}:key:ann"},
		{identity.Principal{Tenant: "acme", User: "ann", Key: "k1"}, "rl:{acme}", "rl:{acme}:user:ann"},
		{identity.Principal{Tenant: "-._~aZ09", User: "a b/c"}, "rl:{-._~aZ09}", "rl:{-._~aZ09}:user:a%20b%2Fc"},
		{identity.Principal{Tenant: "{}:%", User: "}:user:x"}, "rl:{%7B%7D%3A%25}", "rl:{%7B%7D%3A%25}:user:%7D%3Auser%3Ax"},
		{identity.Principal{Tenant: "\x00\n\xff", Key: "é"}, "rl:{%00%0A%FF}", "rl:{%00%0A%FF}:key:%C3%A9"},
		{identity.Principal{Tenant: strings.Repeat("t", 256), User: "u"},
			"rl:{" + strings.Repeat("t", 256) + "}", "rl:{" + strings.Repeat("t", 256) + "}:user:u"},
	} {
		keys, err := builder(t).Keys(row.principal, netip.Prefix{})
		if err != nil || keys.Outer != row.outer || keys.Inner != row.inner {
			t.Errorf("%q: got %+v, %v; want %s, %s", row.principal, keys, err, row.outer, row.inner)
		}
	}
}

func TestKeys_idsHaveAtMost256BytesOnceEscaped(t *testing.T) {
	fits := map[string]bool{
		strings.Repeat("i", 256):            true,
		strings.Repeat("i", 257):            false,
		strings.Repeat("{", 85) + "i":       true,
		strings.Repeat("{", 85) + "ii":      false,
		strings.Repeat("{", 86):             false,
		strings.Repeat("\x00", 85):          true,
		strings.Repeat("\xff\n", 43):        false,
		strings.Repeat("é", 42):             true,  // 6 bytes each
		strings.Repeat("é", 43):             false, // 258
		strings.Repeat("i", 10_000):         false,
		strings.Repeat("}:user:x\n", 1_000): false,
	}
	for id, want := range fits {
		for _, p := range []identity.Principal{{Tenant: id}, {Tenant: "acme", User: id}, {Tenant: "acme", Key: id}, {Tenant: id, User: id}} {
			keys, err := builder(t).Keys(p, netip.Prefix{})
			if !want {
				if !errors.Is(err, limitkey.ErrLongID) || keys != (limitkey.Keys{}) {
					t.Errorf("%.12q... of %d bytes: got %+v, %v; want ErrLongID", id, len(id), keys, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%.12q... of %d bytes: %v", id, len(id), err)
			}
			holds(t, p, keys)
		}
	}
}

func TestKeys_refusesWhatHasNone(t *testing.T) {
	long := strings.Repeat("u", 257)
	for _, row := range []struct {
		sentence  string
		principal identity.Principal
		want      error
	}{
		{"no tenant", identity.Principal{User: "ann"}, limitkey.ErrEmptyID},
		{"a key without a tenant", identity.Principal{Key: "k1"}, limitkey.ErrEmptyID},
		{"a long tenant", identity.Principal{Tenant: long}, limitkey.ErrLongID},
		{"nobody from nowhere", identity.Principal{}, limitkey.ErrNoAddress},
	} {
		keys, err := builder(t).Keys(row.principal, netip.Prefix{})
		if !errors.Is(err, row.want) || !errors.Is(err, slidinglog.ErrInvalid) || keys != (limitkey.Keys{}) {
			t.Errorf("%s: got %+v, %v; want %v", row.sentence, keys, err, row.want)
		}
	}
}

// TestKeys_ofAddressesArePinned: another digest would be one fresh allowance for
// every anonymous client.
func TestKeys_ofAddressesArePinned(t *testing.T) {
	b := builder(t)
	for client, want := range map[string]string{
		"203.0.113.7/32":    "rl:anon:8H0e4oUpjWhdd3aUQhzgYQ",
		"2001:db8:0:1::/64": "rl:anon:BV8N5VfFefIK1xsgYcZnaD",
	} {
		keys, err := b.Keys(identity.Principal{}, netip.MustParsePrefix(client))
		if err != nil || keys.Outer != want || keys.Inner != "" || !limitkey.IsAddress(keys.Outer) {
			t.Errorf("%s: got %+v, %v; want %s", client, keys, err, want)
		}
		elsewhere, _ := limitkey.NewRandom().Keys(identity.Principal{}, netip.MustParsePrefix(client))
		if elsewhere.Outer == keys.Outer || len(elsewhere.Outer) != len(keys.Outer) {
			t.Errorf("%s: got %s under a random key too", client, elsewhere.Outer)
		}
	}
	if !(limitkey.Builder{}).IsZero() || b.IsZero() {
		t.Error("IsZero does not tell the zero Builder")
	}
}

// slot is a key's slot in Redis Cluster: CRC-16/XMODEM of the tag, or of the key.
func slot(key string) uint16 {
	text := key
	if tag, ok := slidinglog.Tag(key); ok {
		text = tag
	}
	var crc uint16
	for i := range len(text) {
		crc ^= uint16(text[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % 16384
}

func TestSlot_isRedisClusters(t *testing.T) {
	for key, want := range map[string]uint16{"123456789": 12739, "foo": 12182, "{foo}.bar": 12182} {
		if got := slot(key); got != want {
			t.Errorf("%s: got slot %d, want %d", key, got, want)
		}
	}
}

// holds demands what is promised of every key, by reading the principal back.
func holds(t *testing.T, p identity.Principal, keys limitkey.Keys) {
	t.Helper()
	tenant, ok := slidinglog.Tag(keys.Outer)
	if back, err := url.PathUnescape(tenant); !ok || err != nil || back != p.Tenant || keys.Outer != "rl:{"+tenant+"}" {
		t.Fatalf("%q: the outer key is %q", p, keys.Outer)
	}
	kind, id := ":user:", p.User
	if id == "" {
		kind, id = ":key:", p.Key
	}
	if id == "" {
		if keys.Inner != "" {
			t.Fatalf("%q: the inner key is %q", p, keys.Inner)
		}
		return
	}
	rest, ok := strings.CutPrefix(keys.Inner, keys.Outer+kind)
	if back, err := url.PathUnescape(rest); !ok || err != nil || back != id {
		t.Fatalf("%q: the inner key is %q", p, keys.Inner)
	}
	if !limitkey.IsTenant(keys.Outer) || limitkey.IsTenant(keys.Inner) || limitkey.IsAddress(keys.Outer) {
		t.Fatalf("%q: the kinds of %+v", p, keys)
	}
	if slot(keys.Outer) != slot(keys.Inner) {
		t.Fatalf("%q: two slots", p)
	}
	if err := slidinglog.CheckDual(keys.Outer, 1, keys.Inner, 1); err != nil {
		t.Fatal(err)
	}
	for _, c := range []byte(keys.Inner) {
		if c <= ' ' || c >= 0x7f {
			t.Fatalf("%q: the key %q is not printable", p, keys.Inner)
		}
	}
}

func TestKeys_noTwoTuplesOfHostilePartsShareOne(t *testing.T) {
	parts := []string{"", "a", ":", "{", "}", "|", "%", "\n", "\x00", "\xff", "a:b", "b", "%7B", "}:user:a", ":key:", "user"}
	b, seen := builder(t), map[limitkey.Keys]identity.Principal{}
	for _, tenant := range parts {
		for _, user := range parts {
			for _, key := range parts {
				p := identity.Principal{Tenant: tenant, User: user, Key: key}
				keys, err := b.Keys(p, netip.Prefix{})
				if err != nil {
					if tenant != "" {
						t.Errorf("%q: %v", p, err)
					}
					continue
				}
				holds(t, p, keys)
				if user != "" {
					p.Key = "" // does not count
				}
				if other, taken := seen[keys]; taken && other != p {
					t.Fatalf("%q and %q share %+v", p, other, keys)
				}
				seen[keys] = p
			}
		}
	}
}

// TestKeys_noTwoRandomTuplesShareOne draws ids of few pieces, so that many are
// almost alike.
func TestKeys_noTwoRandomTuplesShareOne(t *testing.T) {
	const drawn = 100_000
	pieces := []string{"", "a", "b", ":", "{", "}", "%", "%3A", "%253A", "\x00", "\n", "\xff", "é", "user", "key", ":user:a", "}:key:"}
	random := rand.New(rand.NewPCG(7, 7))
	id := func() string {
		var s string
		for range random.IntN(4) {
			s += pieces[random.IntN(len(pieces))]
		}
		return s
	}
	b, seen := builder(t), map[string]identity.Principal{}
	for range drawn {
		p := identity.Principal{Tenant: id(), User: id()}
		if random.IntN(2) == 0 {
			p.User, p.Key = "", p.User
		}
		keys, err := b.Keys(p, netip.Prefix{})
		if err != nil {
			if p.Tenant != "" {
				t.Errorf("%q: %v", p, err)
			}
			continue
		}
		holds(t, p, keys)
		named := keys.Inner
		if named == "" {
			named = keys.Outer
		}
		if other, taken := seen[named]; taken && other != p {
			t.Fatalf("%q and %q share %s", p, other, named)
		}
		seen[named] = p
	}
	if len(seen) < drawn/4 {
		t.Errorf("%d different keys, want many more", len(seen))
	}
}

func TestKeys_noTwoAddressesShareOne(t *testing.T) {
	b, seen := builder(t), map[string]netip.Prefix{}
	for n := range 20_000 {
		for _, client := range []netip.Prefix{
			netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}), 32),
			netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1, 14: byte(n >> 8), 15: byte(n)}), 128),
			netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1, 6: byte(n >> 8), 7: byte(n)}), 64),
		} {
			keys, err := b.Keys(identity.Principal{}, client)
			if err != nil || keys.Inner != "" {
				t.Fatalf("%v: got %+v, %v", client, keys, err)
			}
			if other, taken := seen[keys.Outer]; taken && other != client {
				t.Fatalf("%v and %v share %s", client, other, keys.Outer)
			}
			if _, tagged := slidinglog.Tag(keys.Outer); tagged || limitkey.IsTenant(keys.Outer) || slidinglog.Check(keys.Outer, 1) != nil {
				t.Fatalf("%v: the key is %s, want one without a tag", client, keys.Outer)
			}
			seen[keys.Outer] = client
		}
	}
}

func FuzzKeys(f *testing.F) {
	f.Add("a:b", "c", "")
	f.Add("a", "b:c", "")
	f.Add("{}%\n\x00\xff", "", "}:user:x")
	f.Add(strings.Repeat("x", 10_000), "", "")
	b := builder(f)
	f.Fuzz(func(t *testing.T, tenant, user, key string) {
		p := identity.Principal{Tenant: tenant, User: user, Key: key}
		keys, err := b.Keys(p, netip.Prefix{})
		if err != nil {
			if !errors.Is(err, slidinglog.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		holds(t, p, keys)
	})
}
