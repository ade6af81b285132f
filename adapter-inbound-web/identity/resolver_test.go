package identity_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
	"github.com/edgelimit/edgelimit/shared-contract/subject"
)

func resolver(t testing.TB, header string, trusted ...string) identity.Resolver {
	t.Helper()
	v, err := identity.NewResolver(identity.Config{
		Proxies: proxies(t, trusted...), IPv6PrefixBits: identity.DefaultIPv6PrefixBits, SubjectHeader: header,
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func ip(t testing.TB, text string) subject.Subject {
	t.Helper()
	addr, ok := identity.ParseAddr(text)
	if !ok {
		t.Fatalf("%q is no address", text)
	}
	s, err := subject.IP(addr, identity.DefaultIPv6PrefixBits)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSubject_header(t *testing.T) {
	v := resolver(t, "x-client-id", "10.0.0.0/8")
	const trusted, stranger = "10.0.0.1:1", "198.51.100.9:1"
	long := strings.Repeat("a", 256)
	for _, row := range []struct {
		sentence string
		request  *http.Request
		want     subject.Subject
		err      error
	}{
		{"a trusted peer names the client", request(trusted, "X-Client-Id", "acme"), subject.Name("acme"), nil},
		{"space around the name is not part of it", request(trusted, "X-Client-Id", " acme\t"), subject.Name("acme"), nil},
		{"256 bytes are a name", request(trusted, "X-Client-Id", long), subject.Name(long), nil},
		{"257 bytes are refused", request(trusted, "X-Client-Id", long+"a"), subject.Subject{}, identity.ErrSubjectTooLong},
		{"two lines are refused", request(trusted, "X-Client-Id", "a", "X-Client-Id", "a"), subject.Subject{}, identity.ErrSubjectRepeated},
		{"two empty lines are two lines", request(trusted, "X-Client-Id", "", "X-Client-Id", ""), subject.Subject{}, identity.ErrSubjectRepeated},
		{"an absent header means the address", request(trusted, "X-Forwarded-For", "203.0.113.7"), ip(t, "203.0.113.7"), nil},
		{"an empty header means the address", request(trusted, "X-Client-Id", "", "X-Forwarded-For", "203.0.113.7"), ip(t, "203.0.113.7"), nil},
		{"a stranger's header does not count", request(stranger, "X-Client-Id", "acme"), ip(t, "198.51.100.9"), nil},
		{"a stranger's two lines do not count either", request(stranger, "X-Client-Id", "a", "X-Client-Id", "b"), ip(t, "198.51.100.9"), nil},
		{"a name that reads like an address is a name", request(trusted, "X-Client-Id", "198.51.100.9"), subject.Name("198.51.100.9"), nil},
		{"a peer without an address is nobody", request("@", "X-Client-Id", "acme"), subject.Subject{}, identity.ErrNoPeer},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			got, err := v.Subject(row.request)
			if got != row.want || !errors.Is(err, row.err) {
				t.Errorf("got %v, %v; want %v, %v", got, err, row.want, row.err)
			}
		})
	}
}

func TestSubject_withoutAHeaderNobodyIsNamed(t *testing.T) {
	got, err := resolver(t, "", "10.0.0.0/8").Subject(request("10.0.0.1:1", "X-Client-Id", "acme"))
	if want := ip(t, "10.0.0.1"); got != want || err != nil {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestSubject_IPv6CountsByPrefix(t *testing.T) {
	v := resolver(t, "")
	seen := map[subject.Subject]int{}
	for i := range 1000 {
		s, err := v.Subject(request(fmt.Sprintf("[2001:db8:1:1::%x]:1", i+1)))
		if err != nil {
			t.Fatal(err)
		}
		seen[s]++
	}
	other, _ := v.Subject(request("[2001:db8:1:2::1]:1"))
	if len(seen) != 1 || seen[other] != 0 {
		t.Errorf("%d subjects in one /64, want 1; the next /64 shares it: %v", len(seen), seen[other] != 0)
	}
	for _, bits := range []int{-1, 129} {
		if _, err := identity.NewResolver(identity.Config{IPv6PrefixBits: bits}); err == nil {
			t.Errorf("a prefix of %d bits is accepted", bits)
		}
	}
	whole, err := identity.NewResolver(identity.Config{IPv6PrefixBits: 128})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := whole.Subject(request("[2001:db8:1:1::1]:1"))
	b, _ := whole.Subject(request("[2001:db8:1:1::2]:1"))
	if a == b {
		t.Error("with 128 bits two addresses are one subject")
	}
}

func TestSubject_specialForms(t *testing.T) {
	v := resolver(t, "")
	of := func(peer string) subject.Subject {
		s, err := v.Subject(request(peer))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	seven, eight := of("198.51.100.7:1"), of("198.51.100.8:1")
	if seven == eight {
		t.Error("two IPv4 addresses are one subject")
	}
	for _, row := range []struct {
		sentence string
		got      subject.Subject
		want     subject.Subject
	}{
		{"a mapped address is the IPv4 address", of("[::ffff:198.51.100.7]:1"), seven},
		{"so is another", of("[::ffff:198.51.100.8]:1"), eight},
		{"a NAT64 address is the IPv4 address", of("[64:ff9b::c633:6407]:1"), seven},
		{"so is another one", of("[64:ff9b::c633:6408]:1"), eight},
		{"the zone does not count", of("[fe80::1%eth0]:1"), of("[fe80::1%eth1]:1")},
	} {
		if row.got != row.want {
			t.Errorf("%s: it is not", row.sentence)
		}
	}
}

func TestAddress(t *testing.T) {
	v := resolver(t, "")
	got, ok := v.Address("2001:db8:1:1::77")
	if want := ip(t, "2001:db8:1:1::1"); !ok || got != want {
		t.Errorf("got %v, %v; want the subject of its /64", got, ok)
	}
	for _, text := range []string{"", "acme", "10.0.0.0/8", "1.2.3", "[10.0.0.1]", "010.0.0.1"} {
		if _, ok := v.Address(text); ok {
			t.Errorf("%q is taken for an address", text)
		}
	}
}

func TestNewResolver_refusesHeadersThatCannotNameAnybody(t *testing.T) {
	for _, header := range []string{"Host", "connection", "X-Forwarded-For", "two words", "a:b", "ä"} {
		if _, err := identity.NewResolver(identity.Config{IPv6PrefixBits: 64, SubjectHeader: header}); err == nil {
			t.Errorf("%q is accepted", header)
		}
	}
	if !(identity.Resolver{}).IsZero() || resolver(t, "").IsZero() {
		t.Error("IsZero does not tell the zero Resolver from another")
	}
}

var claims = []string{
	"X-Client-Id", "acme", "X_client_id", "acme", "Forwarded", "for=6.6.6.6", "X-Forwarded-For", "6.6.6.6, 203.0.113.7",
	"X_forwarded_for", "6.6.6.6", "X-Forwarded-Host", "public.example", "X-Forwarded-Proto", "https", "X-Forwarded-User", "root",
	"X-Original-Uri", "/cheap", "X-Real-Ip", "6.6.6.6", "Accept", "text/plain",
}

func TestScrub_removesWhatAStrangerClaims(t *testing.T) {
	v := resolver(t, "X-Client-Id", "10.0.0.0/8")
	r := request("198.51.100.9:1", claims...)
	got := v.Scrub(r)
	if len(got.Header) != 1 || got.Header.Get("Accept") != "text/plain" {
		t.Errorf("got %v, want Accept alone", got.Header)
	}
	if len(r.Header) != len(claims)/2 {
		t.Errorf("the request handed in was changed: %v", r.Header)
	}
	if v.Scrub(got) != got {
		t.Error("a request with nothing to remove is copied")
	}
	if trusted := request("10.0.0.1:1", claims...); v.Scrub(trusted) != trusted {
		t.Error("a trusted peer's request is not returned as it is")
	}
}

func TestForward(t *testing.T) {
	v := resolver(t, "X-Client-Id", "10.0.0.0/8")
	for _, row := range []struct {
		sentence string
		peer     string
		want     map[string]string
	}{
		{"of a stranger the upstream learns what is known", "198.51.100.9:1", map[string]string{
			"Accept": "text/plain", "X-Forwarded-For": "198.51.100.9", "X-Forwarded-Host": "service.example", "X-Forwarded-Proto": "http"}},
		{"of a trusted peer it learns the validated chain", "10.0.0.1:1", map[string]string{
			"Accept": "text/plain", "X-Client-Id": "acme", "X-Forwarded-For": "203.0.113.7, 10.0.0.1", "X-Forwarded-Host": "public.example",
			"X-Forwarded-Proto": "https", "X-Forwarded-User": "root", "X-Original-Uri": "/cheap", "X-Real-Ip": "203.0.113.7"}},
		{"of a peer without an address it learns none", "@", map[string]string{
			"Accept": "text/plain", "X-Forwarded-Host": "service.example", "X-Forwarded-Proto": "http"}},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			in := request(row.peer, claims...)
			out := in.Header.Clone()
			v.Forward(out, in)
			for name, want := range row.want {
				if got := out.Values(name); len(got) != 1 || got[0] != want {
					t.Errorf("%s: got %q, want %q", name, got, want)
				}
			}
			if len(out) != len(row.want) {
				t.Errorf("got %v, want %v", out, row.want)
			}
		})
	}
	in := request("198.51.100.9:1")
	in.TLS = &tls.ConnectionState{}
	out := http.Header{}
	v.Forward(out, in)
	if got := out.Get("X-Forwarded-Proto"); got != "https" {
		t.Errorf("over TLS: got proto %q, want https", got)
	}
}
