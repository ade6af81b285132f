package e2e_test

import (
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// hold puts n requests in flight and returns once the upstream has all of them.
func hold(t *testing.T, p *process, behind *upstream, n int) (answers chan reply) {
	t.Helper()
	answers = make(chan reply, n)
	for i := range n {
		go func() {
			got, err := try(http.MethodGet, "http://"+p.listen+"/held?"+numeral(i), "")
			if err != nil {
				got.body = err.Error()
			}
			answers <- got
		}()
	}
	eventually(t, "request of everybody at the upstream", func() bool { return behind.count("/held") == n })
	return answers
}

func TestDrain_everyRequestInFlightIsAnswered(t *testing.T) {
	t.Parallel()
	const inFlight = 50
	server, behind := redistest.Start(t), newUpstream(t)
	p := serve(t, limiting(t, server.Addr(), behind.URL, fixedWindow("api", 1000)))
	answers := hold(t, p, behind, inFlight)
	p.signal(t, syscall.SIGTERM)
	eventually(t, "end of readiness", func() bool { return get(t, "http://"+p.admin+"/readyz").status == http.StatusServiceUnavailable })
	if got := get(t, "http://"+p.admin+"/readyz"); !strings.Contains(got.body, `"draining": true`) {
		t.Errorf("readiness says %s, want that it drains", got.body)
	}
	get(t, "http://"+p.admin+"/healthz").must(t, http.StatusOK)
	eventually(t, "refusal of new connections", func() bool {
		conn, err := net.Dial("tcp", p.listen)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	close(behind.release)
	bodies := map[string]bool{}
	for range inFlight {
		got := <-answers
		if got.status != http.StatusOK {
			t.Errorf("got %d %q, want an answer", got.status, got.body)
		}
		bodies[got.body] = true
	}
	if len(bodies) != inFlight {
		t.Errorf("got %d different answers, want %d", len(bodies), inFlight)
	}
	if code := p.exit(t); code != 0 {
		t.Errorf("got exit code %d, want 0", code)
	}
}

func TestDrain_aSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	p := serve(t, limiting(t, server.Addr(), behind.URL, fixedWindow("api", 1000)))
	answers := hold(t, p, behind, 1)
	p.signal(t, syscall.SIGTERM)
	eventually(t, "line that says that it drains", func() bool { return p.logged("draining") != nil })
	select {
	case <-p.ended:
		t.Fatal("it did not wait for the request in flight")
	case <-time.After(100 * time.Millisecond):
	}
	second := time.Now()
	p.signal(t, syscall.SIGTERM)
	if code := p.exit(t); code == 0 {
		t.Error("got exit code 0, want the signal's")
	}
	if took := time.Since(second); took > 5*time.Second {
		t.Errorf("it took %v to end", took)
	}
	if got := <-answers; got.status != 0 {
		t.Errorf("got %d, want a cut connection", got.status)
	}
	close(behind.release)
}
