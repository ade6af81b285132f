package e2e_test

import (
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// It does not run beside others, and so is the first to end.
func TestOff_isAbsent(t *testing.T) {
	configured, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = configured.Close() }()
	behind := newUpstream(t)
	off := limiting(t, configured.Addr().String(), behind.URL, fixedWindow("api", 1)).
		with("app.rate-limit.routes", []route{{"path": "/own-headers", "policy": "api"}}).
		with("app.rate-limit.enabled", false)

	p := serve(t, off)
	for range 20 {
		got := get(t, "http://"+p.listen+"/own-headers").must(t, http.StatusOK)
		for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After"} {
			if values := got.header.Values(name); len(values) != 2 || values[0] != "777" {
				t.Errorf("%s: got %q, want the upstream's own", name, values)
			}
		}
		got.says(t, "Cache-Control: max-age=60", "X-Upstream: its own")
	}
	rawPath(t, p.listen, "/own-headers//x/%2e%2e").must(t, http.StatusOK)

	for _, path := range []string{"/v1/rate-limit/evaluate", "/v1/rate-limit/authorize", "/v1/rate-limit/authorize/x"} {
		send(t, http.MethodPost, "http://"+p.admin+path, `{"subject":"alice"}`, "Content-Type: application/json").must(t, http.StatusNotFound)
	}
	if got := get(t, "http://"+p.admin+"/readyz").must(t, http.StatusOK); !strings.Contains(got.body, "disabled") {
		t.Errorf("readiness says %s, want that rate limiting is disabled", got.body)
	}
	if got := get(t, "http://"+p.admin+"/metrics").must(t, http.StatusOK); strings.Contains(got.body, "edgelimit_") {
		t.Error("there are metrics of a limiter that is off")
	}
	p.signal(t, syscall.SIGTERM)
	if code := p.exit(t); code != 0 {
		t.Errorf("got exit code %d, want 0", code)
	}
	// The process has gone; what it ever dialed would be waiting here.
	_ = configured.(*net.TCPListener).SetDeadline(time.Now().Add(50 * time.Millisecond))
	if conn, err := configured.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the configured endpoint saw a connection: %v, %v", conn, err)
	}
}

func TestOff_withoutAnUpstream_answersNothing(t *testing.T) {
	t.Parallel()
	p := serve(t, settings{"app.server.listen": "127.0.0.1:0", "app.server.admin-listen": "127.0.0.1:0"})
	for _, addr := range []string{p.listen, p.admin} {
		for _, path := range []string{"/v1/rate-limit/evaluate", "/v1/rate-limit/authorize"} {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				send(t, method, "http://"+addr+path, `{"subject":"alice"}`, "Content-Type: application/json").
					must(t, http.StatusNotFound).problem(t, "")
			}
		}
	}
}
