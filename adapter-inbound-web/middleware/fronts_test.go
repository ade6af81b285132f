package middleware_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/internal/edgetest"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limiter"
)

// front is one of the two middlewares before a handler.
type front struct {
	allow func(t testing.TB, next http.HandlerFunc) http.Handler
	deny  func(t testing.TB) http.Handler
	want  string // the fields of what it allows
}

var fronts = map[string]front{
	"edge": {
		allow: func(t testing.TB, next http.HandlerFunc) http.Handler {
			return guarded(t, edgetest.Always(edgetest.Allowed(10, 9)), next)
		},
		deny: func(t testing.TB) http.Handler { return guarded(t, edgetest.Counting(0), ok) },
		want: tenLeftNine,
	},
	"inbound": {
		allow: func(t testing.TB, next http.HandlerFunc) http.Handler {
			return inbound(t, limiter.NewScripted(limiter.Allowing(2))).Handler(next)
		},
		deny: func(t testing.TB) http.Handler {
			return inbound(t, limiter.NewScripted(limiter.Denying(time.Second, 0))).Handler(http.HandlerFunc(ok))
		},
		want: onceLeftTwo,
	},
}

func onEachFront(t *testing.T, check func(t *testing.T, f front)) {
	for name, f := range fronts {
		t.Run(name, func(t *testing.T) { check(t, f) })
	}
}

func TestFronts_informationalResponsesHaveNoneOfTheFields(t *testing.T) {
	onEachFront(t, func(t *testing.T, f front) {
		_, r := wire(t, serve(t, f.allow(t, func(w http.ResponseWriter, _ *http.Request) {
			upstreamClaims(w, nil)
			w.Header().Set("Link", "</a.css>")
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusOK)
		})), "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		status, header := head(t, r)
		if got := rateLines(header); !strings.Contains(status, " 103 ") || got != "" || header.Get("Link") == "" {
			t.Errorf("first got %s, %v; want a 103 with the link and none of the fields", status, header)
		}
		status, header = head(t, r)
		if got := rateLines(header); !strings.Contains(status, " 200 ") || got != f.want {
			t.Errorf("then got %s, %s; want 200 with %s", status, got, f.want)
		}
	})
}

func TestFronts_denyOldAndOddRequests(t *testing.T) {
	onEachFront(t, func(t *testing.T, f front) {
		for _, row := range []struct {
			sentence, raw, status string
			body                  bool
		}{
			{"HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", "HTTP/1.0 429 ", true},
			{"HEAD has the header and no body", "HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 429 ", false},
			{"OPTIONS that is no preflight", "OPTIONS / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 429 ", true},
			{"a method of one's own", "FOO / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 429 ", true},
			{"an absolute target", "GET http://x/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 429 ", true},
			{"a body that waits for 100-continue", "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9\r\nConnection: close\r\n\r\n", "HTTP/1.1 429 ", true},
			{"a connection option that names the fields", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close, X-RateLimit-Limit\r\n\r\n", "HTTP/1.1 429 ", true},
		} {
			t.Run(row.sentence, func(t *testing.T) {
				_, r := wire(t, serve(t, f.deny(t)), row.raw)
				status, header := head(t, r)
				body, _ := io.ReadAll(r)
				if !strings.HasPrefix(status, row.status) || (len(body) > 0) != row.body || header.Get("Content-Length") == "" {
					t.Errorf("got %s, %d bytes, %v; want %s", status, len(body), header, row.status)
				}
				if header.Get("Retry-After") != "1" || header.Get("Cache-Control") != "no-store" || header.Get("X-RateLimit-Remaining") != "0" {
					t.Errorf("got %v", header)
				}
			})
		}
	})
}

func TestFronts_keepHTTP2(t *testing.T) {
	onEachFront(t, func(t *testing.T, f front) {
		server := httptest.NewUnstartedServer(f.allow(t, func(w http.ResponseWriter, r *http.Request) {
			if _, pushes := w.(http.Pusher); !pushes {
				t.Error("the writer lost http.Pusher")
			}
			if _, hijacks := w.(http.Hijacker); hijacks {
				t.Error("the writer claims http.Hijacker on HTTP/2")
			}
			upstreamClaims(w, r)
		}))
		server.EnableHTTP2 = true
		server.StartTLS()
		defer server.Close()
		res, err := server.Client().Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if got := rateLines(res.Header); res.ProtoMajor != 2 || got != f.want {
			t.Errorf("got HTTP/%d, %s; want HTTP/2, %s", res.ProtoMajor, got, f.want)
		}
	})
}

func TestFronts_keepWhatAnHTTP1WriterCan(t *testing.T) {
	onEachFront(t, func(t *testing.T, f front) {
		server := serve(t, f.allow(t, func(w http.ResponseWriter, r *http.Request) {
			_, flushes := w.(http.Flusher)
			_, hijacks := w.(http.Hijacker)
			_, reads := w.(io.ReaderFrom)
			if _, pushes := w.(http.Pusher); !flushes || !hijacks || !reads || pushes {
				t.Errorf("flushes %v, hijacks %v, reads %v, pushes %v; want all but the last", flushes, hijacks, reads, pushes)
			}
			upstreamClaims(w, r)
			_, _ = w.(io.ReaderFrom).ReadFrom(strings.NewReader("hello"))
		}))
		res, err := http.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if got := rateLines(res.Header); string(body) != "hello" || got != f.want {
			t.Errorf("got %q, %s; want hello, %s", body, got, f.want)
		}
	})
}
