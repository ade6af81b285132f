package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

const (
	inboundWindow        = "1000h"
	inboundWindowSeconds = 1000 * 3600
)

// bothOn is the edge port with 4 requests an address, and the inbound-web limiter
// with 10 a tenant and 2 a user; carol's tenant lets users have 3.
func bothOn(t *testing.T, edge, inbound, upstream string) settings {
	t.Helper()
	return limiting(t, edge, upstream, fixedWindow("api", 4)).inboundWeb(t, inbound).
		inbound("window", inboundWindow).
		inbound("limits", map[string]int{"tenant": 10, "user": 2, "key": 2, "anonymous": 2}).
		inbound("tenants", map[string]any{"wide": map[string]int{"user": 3}})
}

func TestInbound_behindTheEdgePort(t *testing.T) {
	t.Parallel()
	// One server and database for both, as is allowed.
	server, behind := redistest.Start(t), newUpstream(t)
	p := serve(t, bothOn(t, server.Addr(), server.Addr(), behind.URL))
	const (
		edge       = "api"
		userDenies = "inbound-web:user"
	)
	ann, bob := user("acme", "ann"), user("acme", "bob")
	carol, dave := user("wide", "carol"), user("wide", "dave")
	tenants, charged := map[string]int64{}, int64(0)
	begun := redisMillis(t, server)
	for _, row := range []struct {
		sentence         string
		who              []string
		from             string // address: the edge port's subject
		limit, remaining int
		fromEdge         bool   // the two, and the reset, are the edge port's
		violated         string // "" is allowed
	}{
		{"inbound-web has less left", ann, "203.0.113.1", 2, 1, false, ""},
		{"and less still", ann, "203.0.113.1", 2, 0, false, ""},
		{"inbound-web denies", ann, "203.0.113.1", 2, 0, false, userDenies},
		{"and again, on a tie with the edge port, which gave its last", ann, "203.0.113.1", 4, 0, true, userDenies},
		{"so the edge port was charged for both", ann, "203.0.113.1", 4, 0, true, edge},
		{"and denies another user with room", bob, "203.0.113.1", 4, 0, true, edge},
		{"who has all of it elsewhere", bob, "203.0.113.2", 2, 1, false, ""},
		{"less left of inbound-web", carol, "203.0.113.3", 3, 2, false, ""},
		{"a tie is the edge port's", dave, "203.0.113.3", 4, 2, true, ""},
		{"the edge port has less left", tenant("wide"), "203.0.113.3", 4, 1, true, ""},
	} {
		before := redisMillis(t, server)
		got := get(t, "http://"+p.listen+"/own-headers", append(address(row.from), row.who...)...).
			counts(t, row.limit, row.remaining).says(t, "X-RateLimit-Source")
		now := redisMillis(t, server)
		least := inboundWindowSeconds - (now-begun)/1000 - 1
		tenantID := strings.TrimPrefix(row.who[0], "X-Tenant-Id: ")
		switch row.violated {
		case "":
			got.must(t, http.StatusOK).says(t, "Retry-After")
			tenants[tenantID]++
		case edge:
			got.must(t, http.StatusTooManyRequests).problem(t, "evaluated").violates(t, edge).
				between(t, "Retry-After", resetSeconds(now), resetSeconds(before))
		default:
			got.must(t, http.StatusTooManyRequests).problem(t, "evaluated").violates(t, row.violated).
				between(t, "Retry-After", least, inboundWindowSeconds)
			charged++
		}
		if row.fromEdge {
			got.between(t, "X-RateLimit-Reset", resetSeconds(now), resetSeconds(before))
		} else {
			got.between(t, "X-RateLimit-Reset", least, inboundWindowSeconds)
		}
		for id, want := range tenants {
			if n := counted(t, server, "rl:{"+id+"}"); n != want {
				t.Errorf("%s: %d requests are counted for %s, want %d", row.sentence, n, id, want)
			}
		}
		if n := integer(t, p.metric(t, chargedDenied)); n != charged || p.total(t, rejections) != charged {
			t.Errorf("%s: %d of %d rejections were charged by the edge port, want %d", row.sentence, n, p.total(t, rejections), charged)
		}
		if t.Failed() {
			t.Fatalf("%s: got %d %v", row.sentence, got.status, got.header)
		}
	}
	for verdict, want := range map[string]string{"allowed": "8", "denied": "2"} {
		sample := `edgelimit_decisions_total{outcome="evaluated",policy="api",verdict="` + verdict + `"}`
		if got := p.metric(t, sample); got != want {
			t.Errorf("the edge port %s %q, want %s", verdict, got, want)
		}
	}
}

func TestInbound_neverStandsInForTheEdgePort(t *testing.T) {
	t.Parallel()
	edge, shared, behind := redistest.Start(t), redistest.Start(t), newUpstream(t)
	p := serve(t, bothOn(t, edge.Addr(), shared.Addr(), behind.URL))
	ann := user("acme", "ann")
	get(t, "http://"+p.listen+"/", ann...).must(t, http.StatusOK).counts(t, 2, 1)
	edge.Kill(t)
	for range 10 { // the breaker's answers too
		get(t, "http://"+p.listen+"/", ann...).must(t, http.StatusServiceUnavailable).problem(t, "unavailable").
			uncounted(t).says(t, "Retry-After: 1")
	}
	if n := len(behind.requests()); n != 1 {
		t.Errorf("the upstream saw %d requests, want the first alone", n)
	}
	if n := counted(t, shared, "rl:{acme}"); n != 1 {
		t.Errorf("%d requests are counted, want the first alone", n)
	}
	if n := p.total(t, fallbacks) + p.total(t, failures) + p.total(t, rejections); n != 0 {
		t.Errorf("the inbound-web limiter was asked %d times without the edge port's leave", n)
	}
	eventually(t, "end of readiness", func() bool { return p.readiness(t) == http.StatusServiceUnavailable })

	edge.Restart(t)
	eventually(t, "answer from the edge port's Redis", func() bool {
		return get(t, "http://"+p.listen+"/", address("203.0.113.9")...).status == http.StatusOK
	})
	shared.Kill(t)
	// A new allowance of both: 4 of the edge port, 2 of the fallback.
	for remaining := range 2 {
		get(t, "http://"+p.listen+"/", ann...).must(t, http.StatusOK).counts(t, 2, 1-remaining).says(t, "X-RateLimit-Source: local")
	}
	get(t, "http://"+p.listen+"/", ann...).must(t, http.StatusTooManyRequests).counts(t, 2, 0).says(t, "X-RateLimit-Source: local")
	get(t, "http://"+p.listen+"/", ann...).must(t, http.StatusTooManyRequests).counts(t, 4, 0).says(t, "X-RateLimit-Source: local")
	get(t, "http://"+p.listen+"/", ann...).must(t, http.StatusTooManyRequests).violates(t, "api").counts(t, 4, 0).says(t, "X-RateLimit-Source")
	if n := p.total(t, fallbacks); n != 4 || p.metric(t, chargedDenied) != "2" {
		t.Errorf("the fallback was asked %d times, and %s of them were charged and denied; want 4, 2", n, p.metric(t, chargedDenied))
	}
}
