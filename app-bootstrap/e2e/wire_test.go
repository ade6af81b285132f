package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// TestWire_everyRequestHasADefinedAnswer sends what no well-behaved client sends.
// What reaches the upstream is charged, and what does not is not.
func TestWire_everyRequestHasADefinedAnswer(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	p := serve(t, limiting(t, server.Addr(), behind.URL, fixedWindow("api", 1000)))
	const close = "Host: shop.example\r\nConnection: close\r\n"
	charged := 0
	for _, row := range []struct {
		sentence, request string
		status            int
		charges           bool
	}{
		{"an old protocol", "GET / HTTP/1.0\r\n\r\n", 200, true},
		{"a whole URL as its target", "GET http://elsewhere.example/x HTTP/1.1\r\n" + close + "\r\n", 200, true},
		{"a method of its own", "FOO / HTTP/1.1\r\n" + close + "\r\n", 200, true},
		{"TRACE", "TRACE / HTTP/1.1\r\n" + close + "\r\n", 200, true},
		{"OPTIONS", "OPTIONS / HTTP/1.1\r\n" + close + "\r\n", 200, true},
		{"a body that waits to be asked for", "POST / HTTP/1.1\r\n" + close + "Expect: 100-continue\r\nContent-Length: 0\r\n\r\n", 200, true},
		{"chunks", "POST / HTTP/1.1\r\n" + close + "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", 200, true},
		{"bytes that are no UTF-8", "GET /%ff%fe HTTP/1.1\r\n" + close + "\r\n", 200, true},
		{"an encoded NUL", "GET /%00 HTTP/1.1\r\n" + close + "\r\n", 200, true},
		{"headers that name the limiter's as hop by hop", "GET / HTTP/1.1\r\nHost: shop.example\r\nConnection: close, X-Forwarded-For, X-RateLimit-Limit\r\n\r\n", 200, true},
		{"no URL", "GET mailto:someone HTTP/1.1\r\n" + close + "\r\n", 400, false},
		{"no path", "GET x HTTP/1.1\r\n" + close + "\r\n", 400, false},
		{"a broken escape", "GET /%zz HTTP/1.1\r\n" + close + "\r\n", 400, false},
		{"a plain NUL", "GET /\x00 HTTP/1.1\r\n" + close + "\r\n", 400, false},
		{"no host", "GET / HTTP/1.1\r\nConnection: close\r\n\r\n", 400, false},
		{"two hosts", "GET / HTTP/1.1\r\n" + close + "Host: other.example\r\n\r\n", 400, false},
		{"two lengths", "POST / HTTP/1.1\r\n" + close + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nx", 400, false},
		{"a folded header", "GET / HTTP/1.1\r\n" + close + "X-A : b\r\n\r\n", 400, false},
		{"no HTTP at all", "hello\r\n\r\n", 400, false},
		{"a version to come", "GET / HTTP/3.0\r\n" + close + "\r\n", 505, false},
		{"a head of a megabyte", "GET / HTTP/1.1\r\n" + close + "X-Long: " + strings.Repeat("x", 1<<20) + "\r\n\r\n", 431, false},
	} {
		before := len(behind.requests())
		got := sendRaw(t, p.listen, row.request)
		if got.status != row.status {
			t.Errorf("%s: got %d, want %d", row.sentence, got.status, row.status)
		}
		if reached := len(behind.requests()) > before; reached != row.charges {
			t.Errorf("%s: reached the upstream is %v, want %v", row.sentence, reached, row.charges)
		}
		if row.charges {
			charged++
			got.says(t, "X-RateLimit-Limit: 1000", "X-RateLimit-Remaining: "+numeral(1000-charged))
		}
	}
	get(t, "http://"+p.listen+"/").must(t, http.StatusOK).says(t, "X-RateLimit-Remaining: "+numeral(999-charged))
}
