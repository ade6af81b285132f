package identity_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
)

var named = identity.PrincipalHeaders{Tenant: "x-tenant-id", User: "X-User-Id", Key: "X_Key_Id"}

func principals(t testing.TB, h identity.PrincipalHeaders) identity.Resolver {
	t.Helper()
	v, err := identity.NewResolver(identity.Config{Proxies: proxies(t, "10.0.0.0/8"), IPv6PrefixBits: 64, Principal: h})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPrincipal_headers(t *testing.T) {
	const trusted, stranger = "10.0.0.1:1", "198.51.100.9:1"
	long := strings.Repeat("a", 256)
	for _, row := range []struct {
		sentence string
		request  *http.Request
		want     identity.Principal
		err      error
	}{
		{"all three", request(trusted, "X-Tenant-Id", "acme", "X-User-Id", "ann", "X_key_id", "k1"), identity.Principal{Tenant: "acme", User: "ann", Key: "k1"}, nil},
		{"space around an id is not part of it", request(trusted, "X-Tenant-Id", " acme\t"), identity.Principal{Tenant: "acme"}, nil},
		{"256 bytes are an id", request(trusted, "X-Tenant-Id", long), identity.Principal{Tenant: long}, nil},
		{"257 bytes are refused", request(trusted, "X-Tenant-Id", long+"a"), identity.Principal{}, identity.ErrPrincipalTooLong},
		{"two lines are refused", request(trusted, "X-Tenant-Id", "a", "X-User-Id", "b", "X-User-Id", "b"), identity.Principal{}, identity.ErrPrincipalRepeated},
		{"a user needs a tenant", request(trusted, "X-User-Id", "ann"), identity.Principal{}, identity.ErrNoTenant},
		{"a key needs a tenant that is not empty", request(trusted, "X-Tenant-Id", " ", "X_key_id", "k1"), identity.Principal{}, identity.ErrNoTenant},
		{"absent is anonymous", request(trusted), identity.Principal{}, nil},
		{"empty is absent", request(trusted, "X-Tenant-Id", "acme", "X-User-Id", ""), identity.Principal{Tenant: "acme"}, nil},
		{"a stranger's headers do not count", request(stranger, "X-Tenant-Id", "acme"), identity.Principal{}, nil},
		{"nor do its faults", request(stranger, "X-User-Id", "a", "X-User-Id", long+"a"), identity.Principal{}, nil},
	} {
		got, err := principals(t, named).Principal(row.request)
		if got != row.want || !errors.Is(err, row.err) || (err == nil) != (row.err == nil) {
			t.Errorf("%s: got %+v, %v; want %+v, %v", row.sentence, got, err, row.want, row.err)
		}
	}
}

func TestPrincipal_ofTheContextRulesOutHeaders(t *testing.T) {
	v, r := principals(t, named), request("10.0.0.1:1", "X-Tenant-Id", "acme", "X-Tenant-Id", "acme")
	for _, row := range []struct {
		put, want identity.Principal
		err       error
	}{
		{identity.Principal{Tenant: "own", User: "u"}, identity.Principal{Tenant: "own", User: "u"}, nil},
		{identity.Principal{}, identity.Principal{}, nil},
		{identity.Principal{Key: "k"}, identity.Principal{}, identity.ErrNoTenant},
	} {
		got, err := v.Principal(r.WithContext(identity.WithPrincipal(r.Context(), row.put)))
		if got != row.want || !errors.Is(err, row.err) {
			t.Errorf("%+v: got %+v, %v; want %+v, %v", row.put, got, err, row.want, row.err)
		}
	}
	if p, ok := identity.PrincipalFrom(r.Context()); ok || !p.IsAnonymous() {
		t.Errorf("a context without one: got %+v, %v", p, ok)
	}
	if p, err := principals(t, identity.PrincipalHeaders{}).Principal(r); !p.IsAnonymous() || err != nil {
		t.Errorf("without header names: got %+v, %v; want nobody", p, err)
	}
}

func TestNewResolver_refusesPrincipalHeaders(t *testing.T) {
	for _, row := range []struct {
		headers identity.PrincipalHeaders
		want    string
	}{
		{identity.PrincipalHeaders{User: "X-User-Id"}, "needs a tenant header"},
		{identity.PrincipalHeaders{Tenant: "X Tenant"}, `tenant header "X Tenant" is not a header name`},
		{identity.PrincipalHeaders{Tenant: "X-Id", Key: "connection"}, `key header "Connection" cannot carry a name`},
		{identity.PrincipalHeaders{Tenant: "X-Id", User: "x-id"}, `user header "X-Id" is the tenant header too`},
	} {
		if _, err := identity.NewResolver(identity.Config{Principal: row.headers}); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%+v: got %v, want %s", row.headers, err, row.want)
		}
	}
}

func TestScrub_removesAStrangersPrincipal(t *testing.T) {
	v := principals(t, named)
	headers := []string{"X-Tenant-Id", "a", "X_tenant_id", "a", "X-User-Id", "a", "X_key_id", "a", "X-Key-Id", "a", "Accept", "a"}
	kept := func(r *http.Request) (names []string) {
		for name := range r.Header {
			names = append(names, name)
		}
		slices.Sort(names)
		return names
	}
	if got := kept(v.Scrub(request("198.51.100.9:1", headers...))); !slices.Equal(got, []string{"Accept"}) {
		t.Errorf("of a stranger, %v are left", got)
	}
	if got := kept(v.Scrub(request("10.0.0.1:1", headers...))); len(got) != 6 {
		t.Errorf("of a trusted peer, %v are left", got)
	}
}

func TestClient_isWhatCountsOfTheAddress(t *testing.T) {
	v := principals(t, named)
	for _, row := range []struct{ peer, forwarded, want string }{
		{"203.0.113.7:1", "", "203.0.113.7/32"},
		{"[2001:db8:0:1:2:3:4:5]:1", "", "2001:db8:0:1::/64"},
		{"[::ffff:203.0.113.7]:1", "", "203.0.113.7/32"},
		{"10.0.0.1:1", "203.0.113.8", "203.0.113.8/32"},
		{"203.0.113.7:1", "203.0.113.8", "203.0.113.7/32"},
		{"@", "", ""},
	} {
		r := request(row.peer)
		if row.forwarded != "" {
			r.Header.Set("X-Forwarded-For", row.forwarded)
		}
		got, err := v.Client(r)
		if row.want == "" {
			if !errors.Is(err, identity.ErrNoPeer) {
				t.Errorf("%s: got %v, %v; want ErrNoPeer", row.peer, got, err)
			}
			continue
		}
		if err != nil || got.String() != row.want {
			t.Errorf("%s: got %v, %v; want %s", row.peer, got, err, row.want)
		}
	}
}
