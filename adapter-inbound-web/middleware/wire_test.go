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

func TestWire_theEdgeRefusesAmbiguousTargets(t *testing.T) {
	for sentence, target := range map[string]string{"an absolute target": "http://x//a", "a doubled slash": "//a"} {
		_, r := wire(t, allowing(t, ok), "GET "+target+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if status, header := head(t, r); !strings.Contains(status, " 400 ") || header.Get("Cache-Control") != "no-store" || header.Get("Retry-After") != "" {
			t.Errorf("%s: got %s, %v; want 400", sentence, status, header)
		}
	}
}
