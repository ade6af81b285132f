package identity_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
	"github.com/edgelimit/edgelimit/shared-contract/subject"
)

func proxies(t testing.TB, texts ...string) identity.Proxies {
	t.Helper()
	p, err := identity.ParseProxies(texts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func request(peer string, header ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "http://service.example/", nil)
	r.RemoteAddr = peer
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

func forwarded(peer string, lines ...string) *http.Request {
	r := request(peer)
	for _, line := range lines {
		r.Header.Add("X-Forwarded-For", line)
	}
	return r
}

func TestClientIP(t *testing.T) {
	trusting := proxies(t, "10.0.0.0/8", "2001:db8:ffff::/48")
	for _, row := range []struct {
		sentence string
		request  *http.Request
		want     string // "" is none
	}{
		{"an untrusted peer is the client, whatever it forwards",
			forwarded("198.51.100.9:4711", "6.6.6.6"), "198.51.100.9"},
		{"a trusted peer that forwards nothing is the client",
			forwarded("10.0.0.1:1"), "10.0.0.1"},
		{"the rightmost untrusted address is the client, not the leftmost",
			forwarded("10.0.0.1:1", "6.6.6.6, 203.0.113.7"), "203.0.113.7"},
		{"trusted hops on the right are passed over",
			forwarded("10.0.0.1:1", "6.6.6.6, 203.0.113.7, 10.0.0.3,10.0.0.2"), "203.0.113.7"},
		{"all lines are one list",
			forwarded("10.0.0.1:1", "6.6.6.6", "203.0.113.7"), "203.0.113.7"},
		{"a client in an earlier line is found behind trusted hops",
			forwarded("10.0.0.1:1", "6.6.6.6, 203.0.113.7", "10.0.0.3", "10.0.0.2"), "203.0.113.7"},
		{"when all are trusted, the leftmost is the client",
			forwarded("10.0.0.1:1", "10.0.0.9, 10.0.0.2"), "10.0.0.9"},
		{"empty entries are no addresses",
			forwarded("10.0.0.1:1", ", ,"), "10.0.0.1"},
		{"a word is no address",
			forwarded("10.0.0.1:1", "unknown"), "10.0.0.1"},
		{"what is no address ends the walk at the last trusted hop",
			forwarded("10.0.0.1:1", "203.0.113.7, _hidden, 10.0.0.2"), "10.0.0.2"},
		{"an IPv4 address may have a port",
			forwarded("10.0.0.1:1", "203.0.113.7:1234"), "203.0.113.7"},
		{"an IPv6 address in brackets may have a port",
			forwarded("10.0.0.1:1", "[2001:db8::1]:99"), "2001:db8::1"},
		{"an IPv6 address may be in brackets alone",
			forwarded("10.0.0.1:1", "[2001:db8::1]"), "2001:db8::1"},
		{"an IPv4-mapped entry is IPv4, and trusted as such",
			forwarded("10.0.0.1:1", "203.0.113.7, ::ffff:10.0.0.2"), "203.0.113.7"},
		{"an IPv4-mapped peer is IPv4, and trusted as such",
			forwarded("[::ffff:10.0.0.1]:1", "203.0.113.7"), "203.0.113.7"},
		{"a trusted IPv6 proxy counts too",
			forwarded("[2001:db8:ffff::1]:1", "2001:db8::5"), "2001:db8::5"},
		{"a NAT64 peer is its IPv4 address",
			forwarded("[64:ff9b::c633:6407]:1"), "198.51.100.7"},
		{"a zone is dropped",
			forwarded("[fe80::1%eth0]:1"), "fe80::1"},
		{"a peer without a port is read too",
			forwarded("198.51.100.9"), "198.51.100.9"},
		{"a peer on a Unix socket has no address", forwarded("@", "203.0.113.7"), ""},
		{"a peer without a name has no address", forwarded("", "203.0.113.7"), ""},
		{"an address of absurd length is none",
			forwarded("10.0.0.1:1", "fe80::1%"+strings.Repeat("z", 10_000)), "10.0.0.1"},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			got, ok := trusting.ClientIP(row.request)
			if ok != (row.want != "") || ok && got.String() != row.want {
				t.Errorf("got %v, %v; want %q", got, ok, row.want)
			}
		})
	}
}

func TestClientIP_spoofedEntriesMakeNoBuckets(t *testing.T) {
	trusting := proxies(t, "10.0.0.0/8")
	for _, row := range []struct {
		peer, tail, want string
	}{
		{"198.51.100.9:1", "", "198.51.100.9"},
		{"10.0.0.1:1", ", 203.0.113.7", "203.0.113.7"},
	} {
		for i := range 100 {
			got, _ := trusting.ClientIP(forwarded(row.peer, fmt.Sprintf("6.6.6.%d%s", i, row.tail)))
			if got.String() != row.want {
				t.Fatalf("peer %s, entry %d: got %v, want %s", row.peer, i, got, row.want)
			}
		}
	}
}

func TestClientIP_examinesAtMost32(t *testing.T) {
	trusting := proxies(t, "10.0.0.0/8")
	chain := func(trusted int) string {
		return "203.0.113.7" + strings.Repeat(", 10.0.0.2", trusted)
	}
	if got, _ := trusting.ClientIP(forwarded("10.0.0.1:1", chain(31))); got.String() != "203.0.113.7" {
		t.Errorf("the 32nd entry: got %v, want it examined", got)
	}
	if got, _ := trusting.ClientIP(forwarded("10.0.0.1:1", chain(32))); got.String() != "10.0.0.2" {
		t.Errorf("the 33rd entry: got %v, want the last hop examined", got)
	}
	if got := len(trusting.Chain(forwarded("10.0.0.1:1", chain(10_000)))); got != 33 {
		t.Errorf("10,000 entries: a chain of %d, want the peer and 32", got)
	}
}

// The bound on the work is on allocations and entries, not on time: a list that
// an attacker made long costs what a short one does.
func TestClientIP_longListAllocatesNothing(t *testing.T) {
	trusting := proxies(t, "10.0.0.0/8")
	r := forwarded("10.0.0.1:1", strings.Repeat("6.6.6.6, ", 10_000)+"203.0.113.7")
	if allocs := testing.AllocsPerRun(100, func() { trusting.ClientIP(r) }); allocs > 0 {
		t.Errorf("%v allocations, want none", allocs)
	}
}

func TestClientIP_zeroProxiesTrustNobody(t *testing.T) {
	got, ok := identity.Proxies{}.ClientIP(forwarded("127.0.0.1:1", "203.0.113.7"))
	if !ok || got.String() != "127.0.0.1" {
		t.Errorf("got %v, %v; want the peer", got, ok)
	}
}

func TestChain_isTheValidatedPartOnly(t *testing.T) {
	trusting := proxies(t, "10.0.0.0/8")
	got := trusting.Chain(forwarded("10.0.0.1:1", "6.6.6.6, 203.0.113.7:80, ::ffff:10.0.0.2"))
	if want := "[203.0.113.7 10.0.0.2 10.0.0.1]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if got := trusting.Chain(forwarded("@")); len(got) != 0 {
		t.Errorf("a peer without an address: got %v, want nothing", got)
	}
}

func TestParseProxies(t *testing.T) {
	mapped := proxies(t, "::ffff:10.0.0.0/104", "64:ff9b::c000:200/120", "192.168.7.9/24", "::1")
	for _, peer := range []string{"10.1.2.3:1", "192.0.2.200:1", "192.168.7.1:1", "[::1]:1"} {
		if !mapped.TrustsPeer(request(peer)) {
			t.Errorf("%s is not trusted", peer)
		}
	}
	_, err := identity.ParseProxies([]string{"10.0.0.0/8", "localhost", "10.0.0.0/33", "", "fe80::1%eth0"})
	for _, want := range []string{"proxy 2", "proxy 3", "proxy 4", "proxy 5"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s in it", err, want)
		}
	}
}

func FuzzClientIP(f *testing.F) {
	for _, seed := range []string{"", ", ,", "unknown", "203.0.113.7:1234", "[2001:db8::1]:99", "10.0.0.2",
		"6.6.6.6, 10.0.0.2", "::ffff:10.0.0.2", "64:ff9b::a00:2", "fe80::1%eth0,10.0.0.2", "[", "]", "[]", "10.0.0.2,"} {
		f.Add("6.6.6.6", seed)
	}
	trusting := proxies(f, "10.0.0.0/8", "fe80::/10")
	f.Fuzz(func(t *testing.T, left, list string) {
		alone, ok := trusting.ClientIP(forwarded("10.0.0.1:1", list))
		if !ok || alone != subject.Unembed(alone) || alone.Zone() != "" {
			t.Fatalf("%q: got %v, %v; want an address in canonical form", list, alone, ok)
		}
		isTrusted := trusting.TrustsPeer(request(netip.AddrPortFrom(alone, 1).String()))
		longer, _ := trusting.ClientIP(forwarded("10.0.0.1:1", left+","+list))
		if !isTrusted && longer != alone {
			t.Fatalf("%q on the left of %q: got %v, want %v", left, list, longer, alone)
		}
		behind, _ := trusting.ClientIP(forwarded("10.0.0.1:1", left, list, "203.0.113.7, 10.0.0.2"))
		if behind.String() != "203.0.113.7" {
			t.Fatalf("%q on the left of a real client: got %v", list, behind)
		}
	})
}

func BenchmarkClientIP_10000Entries(b *testing.B) {
	trusting := proxies(b, "10.0.0.0/8")
	r := forwarded("10.0.0.1:1", strings.Repeat("10.0.0.2, ", 10_000)+"10.0.0.3")
	for b.Loop() {
		trusting.ClientIP(r)
	}
}
