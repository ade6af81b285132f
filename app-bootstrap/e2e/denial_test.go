package e2e_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

func TestDenialCache_deniesOnWhileRedisIsAwayAndNoLonger(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	const age = 6 * time.Second
	p := serve(t, limiting(t, server.Addr(), behind.URL, fixedWindow("api", 2)).
		with("app.rate-limit.denial-cache.max-entries", 10).with("app.rate-limit.denial-cache.max-age", age.String()))
	eventually(t, "readiness", func() bool { return p.readiness(t) == http.StatusOK })
	for range 2 {
		get(t, "http://"+p.listen+"/").must(t, http.StatusOK)
	}
	p.evaluate(t, `{"subject":"alice","cost":1}`).must(t, http.StatusOK)
	first := get(t, "http://"+p.listen+"/").must(t, http.StatusTooManyRequests)
	asked := time.Now()
	server.Kill(t)
	again := get(t, "http://"+p.listen+"/")
	if late := time.Since(asked); late > age-time.Second {
		t.Fatalf("the machine took %v for two requests", late)
	}
	again.must(t, http.StatusTooManyRequests).problem(t, "evaluated")
	for _, name := range []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining"} {
		if got, want := again.header.Get(name), first.header.Get(name); got != want {
			t.Errorf("%s: got %s, want %s as before", name, got, want)
		}
	}
	if got := p.metric(t, `edgelimit_repeated_denials_total{policy="api"}`); got != "1" {
		t.Errorf("repeated denials: got %q, want 1", got)
	}
	p.evaluate(t, `{"subject":"bob","cost":1}`).must(t, http.StatusServiceUnavailable)
	eventually(t, "forget the denial", func() bool { return get(t, "http://"+p.listen+"/").status == http.StatusServiceUnavailable })
	if n := len(behind.requests()); n != 2 {
		t.Errorf("the upstream saw %d requests, want 2", n)
	}
	if strings.Contains(again.body, "LOCAL") {
		t.Errorf("the body tells of the inside: %s", again.body)
	}
}
