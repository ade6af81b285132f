package subject_test

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/secret"
	"github.com/edgelimit/edgelimit/shared-contract/subject"
)

func digester(t testing.TB) subject.Digester {
	t.Helper()
	s, err := secret.New([]byte("correct-horse-battery-staple-123"))
	if err != nil {
		t.Fatal(err)
	}
	return subject.NewDigester(s)
}

func ip(t testing.TB, addr string, bits int) subject.Subject {
	t.Helper()
	s, err := subject.IP(netip.MustParseAddr(addr), bits)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A changed digest is a fresh allowance for everybody, and lets a service and
// the gateway name one subject differently.
func TestDigest_golden(t *testing.T) {
	d := digester(t)
	for _, row := range []struct {
		sentence string
		subject  subject.Subject
		want     string
	}{
		{"a name", subject.Name("client-1"), "3C0KyIlCBlbRiD4kC7bJMz8WDPoCex5PmZ6RBaj7uwg"},
		{"the empty name", subject.Name(""), "4cSEn3OvjCftia5xOx-TaB6EwU_k9HCO9i1Zns2N6Zc"},
		{"an IPv4 address", ip(t, "198.51.100.7", 64), "Uz4hfR0rTN4AZ5PBhfiJW4ihbqOYtMPum2yF3zFicCM"},
		{"an IPv6 network", ip(t, "2001:db8:1:1::1", 64), "ZEFOXZoWYKjnQrVNg37Tq5bqV3jV--r618Zfc_71wPE"},
	} {
		got := d.Digest(row.subject)
		if got != row.want {
			t.Errorf("%s: got %s, want %s", row.sentence, got, row.want)
		}
		if len(got) != 43 || !ratelimit.ValidSubjectDigest(got) {
			t.Errorf("%s: %s is no subject digest of 43 characters", row.sentence, got)
		}
	}
}

func TestDigest_ofTheZeroSubjectIsRefusedByEveryPort(t *testing.T) {
	got := digester(t).Digest(subject.Subject{})
	if got != "" || ratelimit.ValidSubjectDigest(got) {
		t.Errorf("got %q, want nothing", got)
	}
}

func TestDigest_equalTextOfTwoKindsIsTwoSubjects(t *testing.T) {
	d := digester(t)
	if d.Digest(subject.Name("198.51.100.7")) == d.Digest(ip(t, "198.51.100.7", 64)) {
		t.Error("a name and an address share a digest")
	}
	if d.Digest(subject.Name("2001:db8::/64")) == d.Digest(ip(t, "2001:db8::1", 64)) {
		t.Error("a name and a network share a digest")
	}
}

func TestDigest_ofAnotherSecretIsAnother(t *testing.T) {
	other, err := secret.New([]byte(strings.Repeat("x", 32)))
	if err != nil {
		t.Fatal(err)
	}
	if digester(t).Digest(subject.Name("a")) == subject.NewDigester(other).Digest(subject.Name("a")) {
		t.Error("two secrets share a digest")
	}
}

func TestDigest_isSafeForConcurrentUse(t *testing.T) {
	d := digester(t)
	names := strings.Split("abcdefghijklmnop", "")
	want := map[string]string{}
	for _, name := range names {
		want[name] = d.Digest(subject.Name(name))
	}
	var done sync.WaitGroup
	for n := range 64 {
		done.Go(func() {
			for i := range 100 {
				name := names[(n+i)%len(names)]
				if got := d.Digest(subject.Name(name)); got != want[name] {
					t.Errorf("%s: got %s, want %s", name, got, want[name])
				}
			}
		})
	}
	done.Wait()
}

func TestIP_canonicalForms(t *testing.T) {
	d := digester(t)
	for _, row := range []struct {
		sentence    string
		left, right string
		bits        int
		same        bool
	}{
		{"an IPv4-mapped address is its IPv4 address", "::ffff:198.51.100.7", "198.51.100.7", 64, true},
		{"so it is whatever the prefix", "::ffff:198.51.100.7", "198.51.100.7", 0, true},
		{"two IPv4-mapped addresses are two", "::ffff:198.51.100.7", "::ffff:198.51.100.8", 64, false},
		{"two IPv4 addresses are two", "198.51.100.7", "198.51.100.8", 0, false},
		{"a NAT64 address is its IPv4 address", "64:ff9b::c633:6407", "198.51.100.7", 64, true},
		{"two NAT64 addresses are two", "64:ff9b::c633:6407", "64:ff9b::c633:6408", 64, false},
		{"a NAT64 address with a zone is its IPv4 address", "64:ff9b::c633:6407%eth0", "198.51.100.7", 64, true},
		{"a neighbour of the NAT64 prefix is no IPv4 address", "64:ff9b:0:0:0:1:c633:6407", "198.51.100.7", 64, false},
		{"the local-use NAT64 prefix is IPv6", "64:ff9b:1::c633:6407", "198.51.100.7", 64, false},
		{"zones do not count", "fe80::1%eth0", "fe80::1%eth1", 64, true},
		{"an address with and without a zone is one", "fe80::1%eth0", "fe80::1", 128, true},
		{"one /64 is one", "2001:db8:1:1::1", "2001:db8:1:1:ffff:ffff:ffff:ffff", 64, true},
		{"two /64 are two", "2001:db8:1:1::1", "2001:db8:1:2::1", 64, false},
		{"spellings of one address are one", "2001:DB8:0:0:0:0:0:1", "2001:db8::1", 128, true},
		{"/128 counts every address", "2001:db8::1", "2001:db8::2", 128, false},
		{"/127 counts two", "2001:db8::2", "2001:db8::3", 127, true},
		{"/0 counts all of IPv6 as one", "2001:db8::1", "fe80::1", 0, true},
		{"/0 does not count IPv4 with it", "2001:db8::1", "198.51.100.7", 0, false},
		{"/1 halves", "7fff::1", "8000::1", 1, false},
	} {
		left, right := d.Digest(ip(t, row.left, row.bits)), d.Digest(ip(t, row.right, row.bits))
		if (left == right) != row.same {
			t.Errorf("%s: %s and %s by /%d: got the same %t, want %t", row.sentence, row.left, row.right, row.bits, left == right, row.same)
		}
	}
}

func TestIP_eachPrefixKeepsItsBitsAndNoMore(t *testing.T) {
	address := netip.MustParseAddr("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")
	for bits := range 129 {
		whole, err := subject.IP(address, bits)
		if err != nil {
			t.Fatalf("/%d: %v", bits, err)
		}
		flip := func(bit int) subject.Subject {
			bytes := address.As16()
			bytes[bit/8] ^= 0x80 >> (bit % 8)
			s, err := subject.IP(netip.AddrFrom16(bytes), bits)
			if err != nil {
				t.Fatalf("/%d: %v", bits, err)
			}
			return s
		}
		if bits > 0 && flip(bits-1) == whole {
			t.Errorf("/%d: its last bit does not count", bits)
		}
		if bits < 128 && flip(bits) != whole {
			t.Errorf("/%d: the bit after it counts", bits)
		}
	}
}

func TestIP_refusals(t *testing.T) {
	for _, row := range []struct {
		sentence string
		addr     netip.Addr
		bits     int
	}{
		{"no address", netip.Addr{}, 64},
		{"a prefix of -1", netip.MustParseAddr("2001:db8::1"), -1},
		{"a prefix of 129", netip.MustParseAddr("2001:db8::1"), 129},
		{"a wrong prefix before the first IPv6 client comes", netip.MustParseAddr("198.51.100.7"), 129},
	} {
		if s, err := subject.IP(row.addr, row.bits); err == nil || s != (subject.Subject{}) {
			t.Errorf("%s: got %v and %v, want an error and nobody", row.sentence, s, err)
		}
	}
}

func TestSubject_doesNotPrintItself(t *testing.T) {
	for _, verb := range []string{"%v", "%+v", "%s", "%q"} {
		printed := fmt.Sprintf(verb, []subject.Subject{subject.Name("alice"), ip(t, "198.51.100.7", 64)})
		if strings.Contains(printed, "alice") || strings.Contains(printed, "198") || !strings.Contains(printed, "name subject") {
			t.Errorf("%s: got %s", verb, printed)
		}
	}
}

func TestUnembed(t *testing.T) {
	for addr, want := range map[string]string{
		"198.51.100.7":        "198.51.100.7",
		"::ffff:198.51.100.7": "198.51.100.7",
		"64:ff9b::c633:6407":  "198.51.100.7",
		"64:ff9b::1:0:0":      "64:ff9b::1:0:0",
		"fe80::1%eth0":        "fe80::1",
		"::1":                 "::1",
		"::198.51.100.7":      "::c633:6407", // IPv4-compatible, long deprecated
	} {
		if got := subject.Unembed(netip.MustParseAddr(addr)); got != netip.MustParseAddr(want) {
			t.Errorf("%s: got %s, want %s", addr, got, want)
		}
	}
}

// FuzzDigest looks for two subjects that share a digest, which under a keyed
// hash is to look for two that share an input.
func FuzzDigest(f *testing.F) {
	for _, pair := range [][2]string{
		{"", "a"}, {"a", ""}, {"a:b", "c"}, {"a", "b:c"}, {"name", "ip"}, {"\x00", ""}, {"{", "}"}, {"a|", "|a"},
		{"%", "%25"}, {"\n", " "}, {"\xff", "\u00ff"}, {"e\u0301", "\u00e9"}, {"198.51.100.7", "::ffff:198.51.100.7"},
	} {
		f.Add(pair[0], pair[1])
	}
	d := digester(f)
	f.Fuzz(func(t *testing.T, a, b string) {
		subjects := []subject.Subject{subject.Name(a), subject.Name(b), subject.Name(a + b), subject.Name(b + a)}
		for _, text := range []string{a, b} {
			if addr, err := netip.ParseAddr(text); err == nil {
				s, err := subject.IP(addr, 64)
				if err != nil {
					t.Fatal(err)
				}
				subjects = append(subjects, s)
			}
		}
		for _, left := range subjects {
			for _, right := range subjects {
				if (d.Digest(left) == d.Digest(right)) != (left == right) {
					t.Errorf("%#v and %#v: equal digests %t", left, right, left != right)
				}
			}
			if digest := d.Digest(left); !ratelimit.ValidSubjectDigest(digest) {
				t.Errorf("%q is no subject digest", digest)
			}
		}
	})
}
