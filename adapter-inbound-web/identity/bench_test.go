package identity_test

import (
	"net/http"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
)

// trusting trusts three networks, and what they say in X-Client-Id.
func trusting(t testing.TB) identity.Resolver {
	t.Helper()
	return resolver(t, "X-Client-Id", "192.0.2.0/24", "10.0.0.0/8", "fd00::/8")
}

// senders are requests of a browser's size, by the ways in which they name their
// sender.
var senders = []struct {
	name    string
	request *http.Request
	claims  bool // of a peer that is not trusted
}{
	{"an IPv4 peer", browser("203.0.113.7:4711"), false},
	{"an IPv6 peer", browser("[2001:db8:1:1::1]:4711"), false},
	{"a peer with claims", browser("203.0.113.7:4711", "X-Forwarded-For", "198.51.100.7"), true},
	{"behind two proxies", browser("10.0.0.1:4711", "X-Forwarded-For", "203.0.113.7, 10.0.0.2"), false},
	{"named by a proxy", browser("10.0.0.1:4711", "X-Client-Id", "acme"), false},
}

func browser(peer string, header ...string) *http.Request {
	return request(peer, append(header, "Accept", "*/*", "Accept-Encoding", "gzip", "Authorization", "Bearer x", "Cookie", "a=b",
		"Referer", "https://a.example/", "User-Agent", "any")...)
}

func BenchmarkSubject(b *testing.B) {
	v := trusting(b)
	for _, row := range senders {
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.Subject(row.request); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkScrub(b *testing.B) {
	v := trusting(b)
	for _, row := range senders {
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				v.Scrub(row.request)
			}
		})
	}
}

func BenchmarkForward(b *testing.B) {
	v := trusting(b)
	for _, row := range senders {
		b.Run(row.name, func(b *testing.B) {
			out := row.request.Header.Clone()
			b.ReportAllocs()
			for b.Loop() {
				v.Forward(out, row.request)
			}
		})
	}
}
