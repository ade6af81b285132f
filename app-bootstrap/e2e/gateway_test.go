package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// windowMillis is wideWindow.
const windowMillis = 8784 * 3600 * 1000

// resetSeconds is what X-RateLimit-Reset of a fixed window says at that instant.
func resetSeconds(millis int64) int64 {
	left := (millis/windowMillis+1)*windowMillis - millis
	return (left + 999) / 1000
}

func TestGateway_letsTheLimitThroughAndThenDeniesInFull(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	p := serve(t, limiting(t, server.Addr(), behind.URL, fixedWindow("api", 3)))
	for i := range 5 {
		before := redisMillis(t, server)
		got := get(t, "http://"+p.listen+"/own-headers")
		after := redisMillis(t, server)
		reset := got.number(t, "X-RateLimit-Reset")
		if reset < resetSeconds(after) || reset > resetSeconds(before) {
			t.Errorf("X-RateLimit-Reset: got %d, want %d to %d", reset, resetSeconds(after), resetSeconds(before))
		}
		if i < 3 {
			got.must(t, http.StatusOK).says(t, "X-RateLimit-Limit: 3", "X-RateLimit-Remaining: "+numeral(2-i), "Retry-After",
				"Cache-Control: max-age=60", "X-Upstream: its own")
			continue
		}
		got.must(t, http.StatusTooManyRequests).problem(t, "evaluated").
			says(t, "X-RateLimit-Limit: 3", "X-RateLimit-Remaining: 0", "X-Upstream")
		// The whole window must pass: both headers point at its end.
		if retry := got.number(t, "Retry-After"); retry != reset {
			t.Errorf("Retry-After: got %d, want the reset %d", retry, reset)
		}
		problem := got.object(t)
		if problem["type"] != "https://iana.org/assignments/http-problem-types#quota-exceeded" {
			t.Errorf("got the problem %s, want the registered type", got.body)
		}
		if violated, _ := problem["violated-policies"].([]any); len(violated) != 1 || violated[0] != "api" {
			t.Errorf("got the problem %s, want it to name the policy", got.body)
		}
	}
	if n := behind.count("/own-headers"); n != 3 {
		t.Errorf("the upstream saw %d requests, want 3", n)
	}
}

func TestGateway_routesChooseThePolicyAndTheCost(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	s := limiting(t, server.Addr(), behind.URL, fixedWindow("api", 100), fixedWindow("search", 200).maxCost(50), fixedWindow("write", 300)).
		with("app.rate-limit.routes", []route{
			{"path": "/search/*", "methods": []string{"GET"}, "policy": "search", "cost": 10},
			{"path": "/search/*", "policy": "write"},
			{"path": "/deep/er", "policy": "search", "cost": 50},
		})
	p := serve(t, s)
	left := map[string]int{"100": 100, "200": 200, "300": 300}
	for _, row := range []struct {
		sentence, method, path string
		limit                  string
		cost                   int
	}{
		{"a rule covers what is below", http.MethodGet, "/search/x", "200", 10},
		{"and the path itself", http.MethodGet, "/search", "200", 10},
		{"GET covers HEAD", http.MethodHead, "/search/x", "200", 10},
		{"another method falls to the next rule", http.MethodPost, "/search/x", "300", 1},
		{"a sibling that begins alike has the default", http.MethodGet, "/searching", "100", 1},
		{"an exact path", http.MethodGet, "/deep/er", "200", 50},
		{"an escaped letter is the letter", http.MethodGet, "/dee%70/er", "200", 50},
		{"below an exact path is the default", http.MethodGet, "/deep/er/x", "100", 1},
		{"a query changes nothing", http.MethodGet, "/deep/er?x=/search/", "200", 50},
		{"whatever no rule covers has the default", http.MethodDelete, "/", "100", 1},
	} {
		left[row.limit] -= row.cost
		got := send(t, row.method, "http://"+p.listen+row.path, "")
		if remaining := got.header.Get("X-RateLimit-Remaining"); got.status != http.StatusOK ||
			got.header.Get("X-RateLimit-Limit") != row.limit || remaining != numeral(left[row.limit]) {
			t.Errorf("%s: got %d, limit %s, remaining %s, want 200, %s, %d", row.sentence,
				got.status, got.header.Get("X-RateLimit-Limit"), remaining, row.limit, left[row.limit])
		}
		if last := behind.last(t); last.uri != row.path || last.method != row.method || last.host != p.listen {
			t.Errorf("%s: the upstream saw %s %s at %s", row.sentence, last.method, last.uri, last.host)
		}
	}
}

// ambiguous are raw paths with more than one reading.
var ambiguous = []string{
	"/a/../search", "/a/%2e%2e/search", "/a/%2E./search", "/./search", "/a%2fb", "/a%2Fb", "//search", "/a//b", `/a\b`, "/a%5cb", "/a%5Cb", "/search/..;x/y",
}

func TestGateway_anAmbiguousPathIsRefusedAndNotCharged(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	p := serve(t, limiting(t, server.Addr(), behind.URL, fixedWindow("api", 100)))
	for _, path := range ambiguous {
		got := rawPath(t, p.listen, path)
		if got.status != http.StatusBadRequest {
			t.Errorf("%s: got %d, want 400", path, got.status)
			continue
		}
		got.problem(t, "").says(t, "X-RateLimit-Limit", "Retry-After")
	}
	if n := len(behind.requests()); n != 0 {
		t.Errorf("the upstream saw %d of them", n)
	}
	get(t, "http://"+p.listen+"/search").must(t, http.StatusOK).says(t, "X-RateLimit-Remaining: 99")
}

func TestGateway_forwardModeLetsAnAmbiguousPathThroughAsItIs(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	s := limiting(t, server.Addr(), behind.URL, fixedWindow("api", 1000), fixedWindow("search", 2000)).
		with("app.gateway.raw-paths", "forward").
		with("app.rate-limit.routes", []route{{"path": "/search/*", "policy": "search"}})
	p := serve(t, s)
	for _, path := range ambiguous {
		got := rawPath(t, p.listen, path)
		want := path
		if strings.Contains(path, `\`) { // no URL may hold one
			want = strings.ReplaceAll(path, `\`, "%5C")
		}
		if last := behind.last(t).uri; got.status != http.StatusOK || last != want {
			t.Errorf("%s: got %d, and the upstream saw %s", path, got.status, last)
		}
	}
	// It is matched in its cleaned form.
	rawPath(t, p.listen, "/a/%2e%2e/search/x").must(t, http.StatusOK).says(t, "X-RateLimit-Limit: 2000")
	rawPath(t, p.listen, "//search").must(t, http.StatusOK).says(t, "X-RateLimit-Limit: 2000")
}

func TestGateway_anUpstreamThatIsGone_isA502ThatWasCharged(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	p := serve(t, limiting(t, server.Addr(), behind.URL, fixedWindow("api", 10)))
	get(t, "http://"+p.listen+"/").must(t, http.StatusOK).says(t, "X-RateLimit-Remaining: 9")
	behind.CloseClientConnections()
	behind.Close()
	for _, remaining := range []string{"8", "7"} {
		got := get(t, "http://"+p.listen+"/").must(t, http.StatusBadGateway).problem(t, "")
		got.says(t, "X-RateLimit-Limit: 10", "X-RateLimit-Remaining: "+remaining, "Retry-After")
		if strings.Contains(got.body, "127.0.0.1") {
			t.Errorf("the body tells of the inside: %s", got.body)
		}
	}
}
