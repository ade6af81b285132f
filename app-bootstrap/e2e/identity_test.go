package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// byHeader has the subject in X-Client-Id, which counts from that peer alone. All
// tests dial from 127.0.0.1.
func byHeader(s settings, trusted string) settings {
	return s.with("app.gateway.subject", map[string]any{"from": "header", "header": "X-Client-Id"}).
		with("app.server.trusted-proxies", []string{trusted})
}

const (
	aliceAddress = "203.0.113.5"
	strangeProxy = "192.0.2.1" // nobody dials from there
)

// spoofs are claims to be alice.
var spoofs = [][]string{
	{"X-Client-Id: alice"},
	{"x-client-id: alice"},
	{"X-Client-Id: alice", "X-Client-Id: alice"},
	{"X-Client-Id: " + strings.Repeat("a", 300)},
	{"X_Client_Id: alice"},
	{"X-Forwarded-For: " + aliceAddress},
	{"X-Forwarded-For: " + aliceAddress + ", " + strangeProxy},
	{"X-Forwarded-For: " + aliceAddress, "X-Forwarded-For: " + strangeProxy},
	{"Forwarded: for=" + aliceAddress},
	{"X-Real-Ip: " + aliceAddress},
	{"X-Original-Uri: /alices", "X-Original-Method: PUT", "X-Client-Id: alice"},
	{"X-Forwarded-Uri: /alices", "X-Forwarded-Method: PUT", "X-Forwarded-For: " + aliceAddress},
	{"Connection: X-Forwarded-For", "X-Forwarded-For: " + aliceAddress},
}

func TestIdentity_anUntrustedPeerSpendsItsOwnBudgetWhateverItClaims(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	s := limiting(t, server.Addr(), behind.URL, fixedWindow("api", 1000), fixedWindow("alices", 500)).
		with("app.rate-limit.routes", []route{{"path": "/alices", "policy": "alices"}})
	stranger, proxied := serve(t, byHeader(s, strangeProxy)), serve(t, byHeader(s, "127.0.0.1"))
	left := 1000
	for _, target := range []string{"http://" + stranger.listen + "/", "http://" + stranger.admin + "/v1/rate-limit/authorize"} {
		for _, claims := range spoofs {
			left--
			get(t, target, claims...).must(t, http.StatusOK).
				says(t, "X-RateLimit-Limit: 1000", "X-RateLimit-Remaining: "+numeral(left))
		}
	}
	for _, victim := range []string{"X-Client-Id: alice", "X-Forwarded-For: " + aliceAddress} {
		get(t, "http://"+proxied.listen+"/", victim).must(t, http.StatusOK).says(t, "X-RateLimit-Remaining: 999")
	}
	get(t, "http://"+proxied.listen+"/alices", "X-Client-Id: alice").says(t, "X-RateLimit-Limit: 500", "X-RateLimit-Remaining: 499")
}

func TestIdentity_theUpstreamHearsOnlyWhatIsKnown(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	s := limiting(t, server.Addr(), behind.URL, fixedWindow("api", 1000))
	claims := []string{
		"X-Client-Id: alice", "X_Client_Id: alice", "X-Forwarded-For: 198.51.100.9, " + aliceAddress, "X-Forwarded-Proto: https",
		"X-Forwarded-Host: alice.example", "X-Forwarded-Anything: alice", "X-Original-Uri: /alice", "X-Real-Ip: 198.51.100.9", "Forwarded: for=alice",
		"X-Kept: yes",
	}
	for _, row := range []struct {
		sentence, trusted string
		want              map[string]string
	}{
		{"nothing that a stranger says of itself", strangeProxy, map[string]string{
			"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Proto": "http", "X-Kept": "yes",
		}},
		{"the validated chain of a trusted proxy", "127.0.0.1", map[string]string{
			"X-Forwarded-For": aliceAddress + ", 127.0.0.1", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "alice.example",
			"X-Client-Id": "alice", "X-Real-Ip": aliceAddress, "X-Kept": "yes",
		}},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			for _, on := range []bool{true, false} {
				p := serve(t, byHeader(s, row.trusted).with("app.rate-limit.enabled", on))
				get(t, "http://"+p.listen+"/", claims...).must(t, http.StatusOK)
				header := behind.last(t).header
				if row.trusted == strangeProxy {
					row.want["X-Forwarded-Host"] = p.listen
				}
				for name, want := range row.want {
					if got := header.Values(name); len(got) != 1 || got[0] != want {
						t.Errorf("enabled %v: %s: got %q, want %q", on, name, got, want)
					}
				}
				for _, name := range []string{"Forwarded", "X_Client_Id"} {
					if got := header[name]; got != nil {
						t.Errorf("enabled %v: %s: got %q, want it gone", on, name, got)
					}
				}
				for _, name := range []string{"X-Client-Id", "X-Real-Ip", "X-Forwarded-Anything", "X-Original-Uri"} {
					if got := header[name]; row.trusted == strangeProxy && got != nil {
						t.Errorf("enabled %v: %s: got %q, want it gone", on, name, got)
					}
				}
			}
		})
	}
}

func TestIdentity_aTrustedPeerNamesTheSubject(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	p := serve(t, byHeader(limiting(t, server.Addr(), behind.URL, fixedWindow("api", 100)), "127.0.0.1"))
	for _, row := range []struct {
		sentence  string
		headers   []string
		remaining int
	}{
		{"a name", []string{"X-Client-Id: alice"}, 99},
		{"the same name again", []string{"X-Client-Id: alice"}, 98},
		{"whoever forwards it", []string{"X-Client-Id: alice", "X-Forwarded-For: " + aliceAddress}, 97},
		{"another name", []string{"X-Client-Id: Alice"}, 99},
		{"a name that looks like an address is no address", []string{"X-Client-Id: " + aliceAddress}, 99},
		{"an address, without a name", []string{"X-Forwarded-For: " + aliceAddress}, 99},
		{"an empty name is none", []string{"X-Client-Id: ", "X-Forwarded-For: " + aliceAddress}, 98},
		{"what stands left of the client is its own invention", []string{"X-Forwarded-For: 198.51.100.77, " + aliceAddress}, 97},
		{"lines are joined", []string{"X-Forwarded-For: 198.51.100.77", "X-Forwarded-For: " + aliceAddress}, 96},
		{"mapped IPv4 is IPv4", []string{"X-Forwarded-For: ::ffff:" + aliceAddress}, 95},
		{"an IPv6 address", []string{"X-Forwarded-For: 2001:db8:1:2::1"}, 99},
		{"counts with its /64", []string{"X-Forwarded-For: 2001:db8:1:2:ffff::1"}, 98},
		{"and not with the next", []string{"X-Forwarded-For: 2001:db8:1:3::1"}, 99},
		{"the peer itself, with nothing said", nil, 99},
		{"what cannot be parsed ends at the last trusted hop", []string{"X-Forwarded-For: " + aliceAddress + ", unknown"}, 98},
		{"a name of 256 bytes", []string{"X-Client-Id: " + strings.Repeat("n", 256)}, 99},
	} {
		got := get(t, "http://"+p.listen+"/", row.headers...).must(t, http.StatusOK)
		if remaining := got.number(t, "X-RateLimit-Remaining"); remaining != int64(row.remaining) {
			t.Errorf("%s: %d remain, want %d", row.sentence, remaining, row.remaining)
		}
	}
	before := len(behind.requests())
	for _, headers := range [][]string{
		{"X-Client-Id: alice", "X-Client-Id: alice"},
		{"X-Client-Id: alice", "X-Client-Id: "},
		{"X-Client-Id: " + strings.Repeat("n", 257)},
	} {
		for _, target := range []string{"http://" + p.listen + "/", "http://" + p.admin + "/v1/rate-limit/authorize"} {
			got := get(t, target, headers...).must(t, http.StatusBadRequest).problem(t, "")
			if strings.Contains(got.body, "alice") {
				t.Errorf("the body repeats the name: %s", got.body)
			}
		}
	}
	if after := len(behind.requests()); after != before {
		t.Errorf("the upstream saw %d of the refused requests", after-before)
	}
	get(t, "http://"+p.listen+"/", "X-Client-Id: alice").says(t, "X-RateLimit-Remaining: 96")
}
