package route_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/route"
)

func target(t testing.TB, raw string) *url.URL {
	t.Helper()
	u, err := url.ParseRequestURI(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestRawFault(t *testing.T) {
	for _, row := range []struct {
		raw  string
		want route.Fault
	}{
		{"/", ""},
		{"*", ""},
		{"/login", ""},
		{"/login/", ""},
		{"/%6cogin", ""},
		{"/LOGIN", ""},
		{"/login?next=//x/../y%2f", ""},
		{"/login;v=1", ""},
		{"/a.b/..c/d../...", ""},
		{"/100%25", ""},
		{"/caf%C3%A9", ""},
		{"http://service.example/login", ""},
		{"http://service.example", ""},
		{"/./login", route.DotSegment},
		{"/x/../login", route.DotSegment},
		{"/login/..", route.DotSegment},
		{"/x/%2e%2E/login", route.DotSegment},
		{"/x/.%2e/login", route.DotSegment},
		{"/%2e", route.DotSegment},
		{"/x/..;a=1/login", route.DotSegment},
		{"/users/1%2Forders", route.EncodedSlash},
		{"/users/1%2forders", route.EncodedSlash},
		{`/users/1%2forders"`, route.EncodedSlash},
		{`/a\b`, route.Backslash},
		{"/a%5cb", route.Backslash},
		{"/a%5Cb", route.Backslash},
		{"//login", route.DoubledSlash},
		{"/a//b", route.DoubledSlash},
		{"/a//", route.DoubledSlash},
		{"http://service.example//login", route.DoubledSlash},
	} {
		if got := route.RawFault(target(t, row.raw)); got != row.want {
			t.Errorf("%s: got %q, want %q", row.raw, got, row.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, seed := range []string{"", "/", "*", "//login", "/login/", "/./login", "/x/../login", "/%6cogin", "/../..", "a//b/", `/a\..\b`, "/a/*"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, p string) {
		once := route.Clean(p)
		if twice := route.Clean(once); twice != once {
			t.Fatalf("%q: cleaned to %q, and again to %q", p, once, twice)
		}
		if !strings.HasPrefix(once, "/") || strings.Contains(once, "//") || len(once) > 1 && strings.HasSuffix(once, "/") {
			t.Fatalf("%q: cleaned to %q", p, once)
		}
		u := &url.URL{Path: p}
		if route.RawFault(u) == "" && strings.HasPrefix(p, "/") && strings.TrimSuffix(p, "/") != strings.TrimSuffix(once, "/") {
			t.Fatalf("%q has no fault, and still cleaning makes it %q", p, once)
		}
	})
}
