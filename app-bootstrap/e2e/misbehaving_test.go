package e2e_test

import (
	"bufio"
	"net"
	"net/http"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// misbehaving lets a gateway meet an upstream that breaks the protocol in several
// ways, and returns what the gateway printed and answered meanwhile.
func misbehaving(t *testing.T) string {
	t.Helper()
	word := planted["an upstream's word"]
	answers := map[string]string{
		"/no-http":     word + "\r\n\r\n",
		"/bad-header":  "HTTP/1.1 200 OK\r\n" + word + "\r\n\r\n",
		"/body-short":  "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + word,
		"/too-much":    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" + word,
		"/bad-chunk":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + word + "\r\n",
		"/bad-trailer": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n" + word + "\r\n\r\n",
		"/bad-upgrade": "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + word + "\r\n\r\n",
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					_, _ = conn.Write([]byte(answers[r.URL.Path]))
				}
			}()
		}
	}()
	p := serve(t, limiting(t, redistest.Start(t).Addr(), "http://"+listener.Addr().String(), fixedWindow("api", 100)))
	bodies := ""
	for path := range answers {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			got, err := try(method, "http://"+p.listen+path, "")
			if err == nil && got.status >= http.StatusBadRequest {
				bodies += got.body
			}
		}
	}
	get(t, "http://"+p.admin+"/healthz").must(t, http.StatusOK)
	return p.stdout.String() + p.stderr.String() + bodies
}
