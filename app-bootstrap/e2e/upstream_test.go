package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
)

// upstream is the protected service. It notes every request and behaves as its
// path says.
type upstream struct {
	*httptest.Server
	release chan struct{} // closed: what is held goes on

	mu   sync.Mutex
	seen []seen
}

// seen is one request as the upstream got it.
type seen struct {
	method, uri, host string
	header            http.Header
}

func newUpstream(t testing.TB) *upstream {
	t.Helper()
	u := &upstream{release: make(chan struct{})}
	u.Server = httptest.NewServer(u)
	t.Cleanup(func() {
		u.CloseClientConnections()
		u.Close()
	})
	return u
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	u.seen = append(u.seen, seen{r.Method, r.RequestURI, r.Host, r.Header.Clone()})
	u.mu.Unlock()
	switch r.URL.Path {
	case "/own-headers":
		ownHeaders(w)
	case "/events":
		u.events(w, r)
	case "/socket":
		echo(w, r)
	case "/upload":
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "%d bytes, %v", n, err)
	case "/held":
		u.wait(r)
		_, _ = io.WriteString(w, "held "+r.URL.RawQuery)
	case "/v1/rate-limit/evaluate", "/v1/rate-limit/authorize":
		http.NotFound(w, r)
	default:
		_, _ = io.WriteString(w, "hello")
	}
}

// wait holds a request until it is released, or its client has gone.
func (u *upstream) wait(r *http.Request) {
	select {
	case <-u.release:
	case <-r.Context().Done():
	}
}

// ownHeaders claims what only the limiter may say.
func ownHeaders(w http.ResponseWriter) {
	for _, name := range []string{"X-RateLimit-Limit", "x-ratelimit-remaining", "X-RateLimit-Reset", "Retry-After"} {
		w.Header()[name] = []string{"777", "778"}
	}
	w.Header().Set("Cache-Control", "max-age=60")
	w.Header().Set("X-Upstream", "its own")
	_, _ = io.WriteString(w, "hello")
}

// events sends one event and ends when it is released.
func (u *upstream) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "data: first\n\n")
	w.(http.Flusher).Flush()
	u.wait(r)
	_, _ = io.WriteString(w, "data: last\n\n")
}

// echo sends back every message of a WebSocket.
func echo(w http.ResponseWriter, r *http.Request) {
	w.Header()["X-RateLimit-Limit"] = []string{"777"}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	for {
		kind, message, err := conn.Read(r.Context())
		if err != nil || conn.Write(r.Context(), kind, message) != nil {
			return
		}
	}
}

// requests are those seen so far.
func (u *upstream) requests() []seen {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]seen(nil), u.seen...)
}

// count is how many requests for that path were seen.
func (u *upstream) count(path string) int {
	n := 0
	for _, s := range u.requests() {
		if at, _, _ := strings.Cut(s.uri, "?"); at == path {
			n++
		}
	}
	return n
}

// last is the latest request.
func (u *upstream) last(t testing.TB) seen {
	t.Helper()
	all := u.requests()
	if len(all) == 0 {
		t.Fatal("the upstream saw no request")
	}
	return all[len(all)-1]
}
