package middleware_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/textproto"
	"net/url"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/answer"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/internal/edgetest"
)

// wire sends raw to the server and gives back the connection.
func wire(t testing.TB, server *httptest.Server, raw string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, raw); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// head reads one response head: its status line and its header lines.
func head(t testing.TB, r *bufio.Reader) (string, http.Header) {
	t.Helper()
	lines := textproto.NewReader(r)
	status, err := lines.ReadLine()
	if err != nil {
		t.Fatal(err)
	}
	header, err := lines.ReadMIMEHeader()
	if err != nil {
		t.Fatal(err)
	}
	return status, http.Header(header)
}

func serve(t testing.TB, h http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server
}

func allowing(t testing.TB, next http.HandlerFunc) *httptest.Server {
	return serve(t, guarded(t, edgetest.Always(edgetest.Allowed(10, 9)), next))
}

func TestWire_anEventArrivesBeforeTheStreamEnds(t *testing.T) {
	port, end := edgetest.Always(edgetest.Allowed(10, 9)), make(chan struct{})
	server := serve(t, guarded(t, port, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			_, _ = fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
			<-end
		}
	}))
	res, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	events := bufio.NewReader(res.Body)
	for i := range 3 {
		line, err := events.ReadString('\n')
		if want := fmt.Sprintf("data: %d\n", i); line != want || err != nil {
			t.Fatalf("got %q, %v; want %q while the handler waits", line, err, want)
		}
		_, _ = events.ReadString('\n')
		end <- struct{}{}
	}
	if got := rateLines(res.Header); got != tenLeftNine || len(port.Asked()) != 1 {
		t.Errorf("got %s, charged %d times; want %s, once", got, len(port.Asked()), tenLeftNine)
	}
}

const upgrade = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"

// echo answers an upgrade and then repeats what it reads. It claims rate limit
// headers, as an upstream may.
func echo(w http.ResponseWriter, _ *http.Request) {
	conn, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\nX-RateLimit-Limit: 7\r\nRetry-After: 9\r\n\r\n")
	_ = rw.Flush()
	_, _ = io.Copy(conn, rw)
}

func echoes(t *testing.T, conn net.Conn, r *bufio.Reader) {
	t.Helper()
	for _, word := range []string{"ping\n", "pong\n"} {
		_, _ = io.WriteString(conn, word)
		if got, err := r.ReadString('\n'); got != word || err != nil {
			t.Fatalf("got %q, %v; want %q", got, err, word)
		}
	}
}

func TestWire_aHandlerCanHijack(t *testing.T) {
	conn, r := wire(t, allowing(t, echo), upgrade)
	if status, _ := head(t, r); !strings.Contains(status, " 101 ") {
		t.Fatalf("got %s, want 101", status)
	}
	echoes(t, conn, r)
}

func TestWire_a101ByWriteHeaderCarriesTheFields(t *testing.T) {
	_, r := wire(t, allowing(t, func(w http.ResponseWriter, _ *http.Request) {
		upstreamClaims(w, nil)
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "echo")
		w.WriteHeader(http.StatusSwitchingProtocols)
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.Close()
		}
	}), upgrade)
	status, header := head(t, r)
	if got := rateLines(header); !strings.Contains(status, " 101 ") || got != tenLeftNine {
		t.Errorf("got %s, %s; want 101 with %s", status, got, tenLeftNine)
	}
}

func TestWire_aReverseProxyUpgrades(t *testing.T) {
	for _, row := range []struct {
		sentence string
		upstream http.HandlerFunc
	}{
		{"at once", echo},
		{"after an early hint, which clears the header map", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-RateLimit-Limit", "7")
			w.WriteHeader(http.StatusEarlyHints)
			echo(w, r)
		}},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			port := edgetest.Always(edgetest.Allowed(10, 9))
			conn, r := wire(t, serve(t, guarded(t, port, proxyTo(t, row.upstream))), upgrade)
			status, header := head(t, r)
			for strings.Contains(status, " 103 ") {
				if got := rateLines(header); got != "" {
					t.Errorf("the early hint has %s, want none of the fields", got)
				}
				status, header = head(t, r)
			}
			if got := rateLines(header); !strings.Contains(status, " 101 ") || got != tenLeftNine {
				t.Fatalf("got %s, %s; want 101 with %s", status, got, tenLeftNine)
			}
			echoes(t, conn, r)
			if n := len(port.Asked()); n != 1 {
				t.Errorf("charged %d times, want once", n)
			}
		})
	}
}

// proxyTo is a reverse proxy to upstream, as a gateway sets it up.
func proxyTo(t testing.TB, upstream http.HandlerFunc) http.HandlerFunc {
	t.Helper()
	target, err := url.Parse(serve(t, upstream).URL)
	if err != nil {
		t.Fatal(err)
	}
	return (&httputil.ReverseProxy{
		Rewrite:        func(pr *httputil.ProxyRequest) { pr.SetURL(target) },
		ModifyResponse: answer.StripResponse,
	}).ServeHTTP
}

func TestWire_aReverseProxyAnswers(t *testing.T) {
	server := allowing(t, proxyTo(t, func(w http.ResponseWriter, _ *http.Request) {
		upstreamClaims(w, nil)
		w.Header().Set("Trailer", "X-RateLimit-Reset, X-Sum")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "down")
		w.(http.Flusher).Flush()
		w.Header().Set("X-RateLimit-Reset", "7")
		w.Header().Set("X-Sum", "1")
	}))
	res, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if got := rateLines(res.Header); res.StatusCode != 503 || string(body) != "down" || got != tenLeftNine {
		t.Errorf("got %d %q, %s; want the upstream's 503 with %s", res.StatusCode, body, got, tenLeftNine)
	}
	if got := rateLines(res.Trailer); got != "" || res.Trailer.Get("X-Sum") != "1" {
		t.Errorf("got trailers %v, want X-Sum alone", res.Trailer)
	}
}

func TestWire_informationalResponsesHaveNoneOfTheFields(t *testing.T) {
	_, r := wire(t, allowing(t, func(w http.ResponseWriter, _ *http.Request) {
		upstreamClaims(w, nil)
		w.Header().Set("Link", "</a.css>")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusOK)
	}), "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	status, header := head(t, r)
	if got := rateLines(header); !strings.Contains(status, " 103 ") || got != "" || header.Get("Link") == "" {
		t.Errorf("first got %s, %v; want a 103 with the link and none of the fields", status, header)
	}
	status, header = head(t, r)
	if got := rateLines(header); !strings.Contains(status, " 200 ") || got != tenLeftNine {
		t.Errorf("then got %s, %s; want 200 with %s", status, got, tenLeftNine)
	}
}

func TestWire_oldAndOddRequests(t *testing.T) {
	denying := serve(t, guarded(t, edgetest.Counting(0), ok))
	for _, row := range []struct {
		sentence, raw, status string
		body                  bool
	}{
		{"HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", "HTTP/1.0 429 ", true},
		{"HEAD has the header and no body", "HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 429 ", false},
		{"a method of one's own", "FOO / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 429 ", true},
		{"an absolute target", "GET http://x/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 429 ", true},
		{"an absolute target is looked at too", "GET http://x//a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 400 ", true},
		{"a doubled slash", "GET //a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 400 ", true},
		{"a body that waits for 100-continue", "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9\r\nConnection: close\r\n\r\n", "HTTP/1.1 429 ", true},
		{"a connection option that names the fields", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close, X-RateLimit-Limit\r\n\r\n", "HTTP/1.1 429 ", true},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			_, r := wire(t, denying, row.raw)
			status, header := head(t, r)
			body, _ := io.ReadAll(r)
			if !strings.HasPrefix(status, row.status) || (len(body) > 0) != row.body || header.Get("Content-Length") == "" {
				t.Errorf("got %s, %d bytes, %v; want %s", status, len(body), header, row.status)
			}
			if denied := strings.Contains(row.status, "429"); (header.Get("Retry-After") == "1") != denied || header.Get("Cache-Control") != "no-store" {
				t.Errorf("got %v", header)
			}
		})
	}
}

func TestWire_HTTP2(t *testing.T) {
	server := httptest.NewUnstartedServer(guarded(t, edgetest.Always(edgetest.Allowed(10, 9)), func(w http.ResponseWriter, r *http.Request) {
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
	if got := rateLines(res.Header); res.ProtoMajor != 2 || got != tenLeftNine {
		t.Errorf("got HTTP/%d, %s; want HTTP/2, %s", res.ProtoMajor, got, tenLeftNine)
	}
}

// plain is a writer with no optional interface.
type plain struct {
	http.ResponseWriter
	header http.Header
}

func (p *plain) Header() http.Header         { return p.header }
func (p *plain) Write(b []byte) (int, error) { return len(b), nil }
func (p *plain) WriteHeader(int)             {}

type hijackable struct{ *plain }

func (hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, http.ErrHijacked }

type flushHijackable struct{ hijackable }

func (flushHijackable) Flush() {}

func TestWriter_claimsOnlyWhatLiesBelow(t *testing.T) {
	for _, row := range []struct {
		below            http.ResponseWriter
		flushes, hijacks bool
	}{
		{&plain{header: http.Header{}}, false, false},
		{hijackable{&plain{header: http.Header{}}}, false, true},
		{flushHijackable{hijackable{&plain{header: http.Header{}}}}, true, true},
		{httptest.NewRecorder(), true, false},
	} {
		guarded(t, edgetest.Always(edgetest.Allowed(10, 9)), func(w http.ResponseWriter, _ *http.Request) {
			_, flushes := w.(http.Flusher)
			_, hijacks := w.(http.Hijacker)
			_, reads := w.(io.ReaderFrom)
			if flushes != row.flushes || hijacks != row.hijacks || reads {
				t.Errorf("over %T: flushes %v, hijacks %v, reads %v", row.below, flushes, hijacks, reads)
			}
			if u, unwraps := w.(interface{ Unwrap() http.ResponseWriter }); !unwraps || u.Unwrap() != row.below {
				t.Errorf("over %T: does not unwrap to it", row.below)
			}
		}).ServeHTTP(row.below, httptest.NewRequest(http.MethodGet, "/", nil))
	}
}

func TestWriter_aHijackThatFailsSendsNothing(t *testing.T) {
	below := hijackable{&plain{header: http.Header{}}}
	guarded(t, edgetest.Always(edgetest.Allowed(10, 9)), func(w http.ResponseWriter, _ *http.Request) {
		if _, _, err := http.NewResponseController(w).Hijack(); err == nil {
			t.Error("the writer below refuses, and still hijacking works")
		}
		upstreamClaims(w, nil)
		w.WriteHeader(http.StatusInternalServerError)
		if got := rateLines(below.header); got != tenLeftNine {
			t.Errorf("sent with %s, want %s", got, tenLeftNine)
		}
	}).ServeHTTP(below, httptest.NewRequest(http.MethodGet, "/", nil))
}
