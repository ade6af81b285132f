package gateway_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
	"github.com/edgelimit/edgelimit/app-bootstrap/internal/gateway"
)

// proxy is a gateway in front of addr, and its log.
func proxy(t *testing.T, upstream string) (http.Handler, *bytes.Buffer) {
	t.Helper()
	u, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	resolver, err := identity.NewResolver(identity.Config{IPv6PrefixBits: identity.DefaultIPv6PrefixBits})
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return gateway.New(gateway.Config{Upstream: u, Resolver: resolver, Logger: logger}), &said
}

func TestNew_joinsThePathsAndKeepsTheRest(t *testing.T) {
	var got, host string
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got, host = r.RequestURI, r.Host }))
	defer upstream.Close()
	for _, row := range []struct{ base, target, want string }{
		{"", "/a/b?x=1&y=2", "/a/b?x=1&y=2"},
		{"", "/?a;b=%zz", "/?a;b=%zz"}, // a query is the upstream's own affair
		{"", "/%61%2fb/%C3%A9", "/%61%2fb/%C3%A9"},
		{"/base", "/a", "/base/a"},
		{"/base/", "/a/", "/base/a/"},
		{"/", "/", "/"},
	} {
		h, _ := proxy(t, upstream.URL+row.base)
		r := httptest.NewRequest(http.MethodGet, row.target, nil)
		r.Host = "shop.example"
		h.ServeHTTP(httptest.NewRecorder(), r)
		if got != row.want || host != "shop.example" {
			t.Errorf("%s in front of %q: the upstream saw %s at %s, want %s", row.target, row.base, got, host, row.want)
		}
	}
}

func TestNew_anUpstreamThatFailsIsLoggedWithoutItsWords(t *testing.T) {
	for _, row := range []struct{ sentence, answer, logged string }{
		{"no HTTP", "planted word\r\n\r\n", "the answer breaks the protocol"},
		{"a broken header", "HTTP/1.1 200 OK\r\nplanted word\r\n\r\n", "the answer breaks the protocol"},
		{"nothing at all", "", "the connection ended before the answer"},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = listener.Close() }()
			go func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					_, _ = conn.Read(make([]byte, 4096))
					_, _ = io.WriteString(conn, row.answer)
					_ = conn.Close()
				}
			}()
			h, said := proxy(t, "http://"+listener.Addr().String())
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
			if w.Code != http.StatusBadGateway || w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("got %d %s", w.Code, w.Body)
			}
			if shown := said.String() + w.Body.String(); !strings.Contains(said.String(), row.logged) || strings.Contains(shown, "planted") {
				t.Errorf("got %q, want %q and nothing of the upstream's", shown, row.logged)
			}
		})
	}
}

func TestNew_aClientThatHasGoneIsNobodysFailure(t *testing.T) {
	begun := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
	}))
	defer upstream.Close()
	h, said := proxy(t, upstream.URL)
	ctx, leave := context.WithTimeout(t.Context(), time.Minute)
	defer leave()
	go func() {
		<-begun
		leave()
	}()
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx))
	if said.Len() > 0 {
		t.Errorf("got %q, want nothing in the log", said)
	}
}

// Bodies of all sizes flow through the gateway at once, and each client gets its own.
func TestNew_bodiesAtOnceAreNotMixed(t *testing.T) {
	const clients, requests, largest = 16, 24, 200 << 10
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for half := range slices.Chunk(body, len(body)/2+1) { // two writes, and a buffer is used for each
			_, _ = w.Write(half)
		}
	}))
	defer upstream.Close()
	h, _ := proxy(t, upstream.URL)
	server := httptest.NewServer(h)
	defer server.Close()
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for n := range requests {
				size := 1 + (c*requests+n)*(largest-1)/(clients*requests-1)
				sent := bytes.Repeat([]byte{byte('a' + c)}, size)
				res, err := http.Post(server.URL, "text/plain", bytes.NewReader(sent))
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if err != nil || !bytes.Equal(got, sent) {
					t.Errorf("client %d: %d bytes came back of %d, not all its own: %v", c, len(got), size, err)
				}
			}
		})
	}
	all.Wait()
}
