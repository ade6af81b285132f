package e2e_test

import (
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

const (
	evaluatePath  = "/v1/rate-limit/evaluate"
	authorizePath = "/v1/rate-limit/authorize"
	sendsJSON     = "Content-Type: application/json"
)

// evaluate asks the decision API.
func (p *process) evaluate(t testing.TB, body string, headers ...string) reply {
	t.Helper()
	return send(t, http.MethodPost, "http://"+p.admin+evaluatePath, body, append([]string{sendsJSON}, headers...)...)
}

func TestEvaluate_answersWithExactlyTheseMembers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := serve(t, limiting(t, server.Addr(), "", fixedWindow("api", 3).maxCost(3), slidingCounter("approximate", 5)))
	for _, row := range []struct {
		body      string
		allowed   bool
		remaining int64
	}{
		{`{"subject":"alice"}`, true, 2},
		{`{"subject":"alice","cost":2,"policy":"api","subjectKind":"name"}`, true, 0},
		{`{"subject":"alice"}`, false, 0},
	} {
		before := redisMillis(t, server)
		answered := p.evaluate(t, row.body).must(t, http.StatusOK).
			says(t, "Content-Type: application/json", "Cache-Control: no-store", "X-RateLimit-Limit: 3", "Retry-After")
		after := redisMillis(t, server)
		got := answered.object(t)
		if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, []string{"allowed", "certainty", "limit", "observedAtMillis", "outcome",
			"policy", "remaining", "resetAfterMillis", "resetAtMillis", "retryAfterMillis", "source"}) {
			t.Errorf("%s: got the members %v", row.body, names)
		}
		observed, resetAt := member(t, got, "observedAtMillis"), member(t, got, "resetAtMillis")
		retry := resetAt - observed
		if row.allowed {
			retry = 0
		}
		switch {
		case observed < before || observed > after:
			t.Errorf("%s: observed at %d, want %d to %d", row.body, observed, before, after)
		case resetAt != (observed/windowMillis+1)*windowMillis || member(t, got, "resetAfterMillis") != resetAt-observed:
			t.Errorf("%s: the reset is not the window's end: %s", row.body, answered.body)
		case member(t, got, "retryAfterMillis") != retry || member(t, got, "remaining") != row.remaining || got["allowed"] != row.allowed:
			t.Errorf("%s: got %s, want allowed %v, %d remaining, retry after %d", row.body, answered.body, row.allowed, row.remaining, retry)
		case got["outcome"] != "evaluated" || got["source"] != "GLOBAL_REDIS" || got["certainty"] != "CERTAIN" || member(t, got, "limit") != 3:
			t.Errorf("%s: got %s", row.body, answered.body)
		}
		policy, _ := got["policy"].(map[string]any)
		if len(policy) != 2 || policy["id"] != "api" || policy["revision"] != json.Number("1") {
			t.Errorf("%s: got the policy %v", row.body, got["policy"])
		}
	}
	if got := p.evaluate(t, `{"subject":"alice","policy":"approximate"}`).must(t, http.StatusOK).object(t); got["certainty"] != "APPROXIMATE_ALGORITHM" {
		t.Errorf("got the certainty %v of a sliding-window counter", got["certainty"])
	}
}

func TestEvaluate_asksAboutTheSubjectsOfTheGateway(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	p := serve(t, byHeader(limiting(t, server.Addr(), behind.URL, fixedWindow("api", 100)), "127.0.0.1"))
	get(t, "http://"+p.listen+"/", "X-Client-Id: alice").says(t, "X-RateLimit-Remaining: 99")
	p.evaluate(t, `{"subject":"alice"}`).must(t, http.StatusOK).says(t, "X-RateLimit-Remaining: 98")
	get(t, "http://"+p.listen+"/", "X-Forwarded-For: 2001:db8::1").says(t, "X-RateLimit-Remaining: 99")
	p.evaluate(t, `{"subject":"2001:db8:0:0:7::1","subjectKind":"ip"}`).must(t, http.StatusOK).says(t, "X-RateLimit-Remaining: 98")
	p.evaluate(t, `{"subject":"2001:db8::1"}`).must(t, http.StatusOK).says(t, "X-RateLimit-Remaining: 99") // a name
	p.evaluate(t, `{"subjectDigest":"0123456789abcdef"}`).must(t, http.StatusOK).says(t, "X-RateLimit-Remaining: 99")
	p.evaluate(t, `{"subjectDigest":"0123456789abcdef"}`).must(t, http.StatusOK).says(t, "X-RateLimit-Remaining: 98")
}

func TestEvaluate_refusesWhatIsNotAPlainQuestion(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := serve(t, limiting(t, server.Addr(), "", fixedWindow("api", 100).maxCost(5)))
	padded := `{"subject":"planted-name"}`
	for _, row := range []struct {
		sentence, body string
		status         int
		outcome        string
	}{
		{"no body", ``, 400, ""},
		{"no object", `["alice"]`, 400, ""},
		{"broken JSON", `{"subject":"alice"`, 400, ""},
		{"trailing data", `{"subject":"alice"} {}`, 400, ""},
		{"an unknown field", `{"subject":"alice","colour":"red"}`, 400, ""},
		{"a field in capitals", `{"Subject":"alice"}`, 400, ""},
		{"a repeated field", `{"subject":"alice","subject":"bob"}`, 400, ""},
		{"no subject", `{"cost":1}`, 400, ""},
		{"an empty subject", `{"subject":""}`, 400, ""},
		{"a subject that is null", `{"subject":null}`, 400, ""},
		{"subject and digest", `{"subject":"alice","subjectDigest":"0123456789abcdef"}`, 400, ""},
		{"a short digest", `{"subjectDigest":"0123456789abcde"}`, 400, ""},
		{"a digest of other characters", `{"subjectDigest":"0123456789abcdef:x"}`, 400, ""},
		{"an unknown kind", `{"subject":"alice","subjectKind":"colour"}`, 400, ""},
		{"a kind beside a digest", `{"subjectDigest":"0123456789abcdef","subjectKind":"name"}`, 400, ""},
		{"an ip that is none", `{"subject":"planted-name","subjectKind":"ip"}`, 400, ""},
		{"a cost of 0", `{"subject":"alice","cost":0}`, 400, ""},
		{"a negative cost", `{"subject":"alice","cost":-1}`, 400, ""},
		{"a cost of 1.0", `{"subject":"alice","cost":1.0}`, 400, ""},
		{"a cost of 1e0", `{"subject":"alice","cost":1e0}`, 400, ""},
		{"a cost in quotes", `{"subject":"alice","cost":"1"}`, 400, ""},
		{"a cost beyond all integers", `{"subject":"alice","cost":9223372036854775808}`, 400, ""},
		{"a cost above the policy's maximum", `{"subject":"alice","cost":6}`, 400, "incompatible"},
		{"an evaluation id, which is not served yet", `{"subject":"alice","evaluationId":"x"}`, 400, ""},
		{"a deep body", `{"subject":` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `}`, 400, ""},
		{"an unknown policy", `{"subject":"alice","policy":"planted-name"}`, 404, "incompatible"},
		{"a body above the bound", padded + strings.Repeat(" ", 64<<10-len(padded)+1), 413, ""},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			got := p.evaluate(t, row.body).must(t, row.status).problem(t, row.outcome).says(t, "Retry-After", "X-RateLimit-Limit")
			if strings.Contains(got.body, "planted") || strings.Contains(got.body, "alice") {
				t.Errorf("the answer repeats the question: %s", got.body)
			}
		})
	}
	send(t, http.MethodGet, "http://"+p.admin+evaluatePath, "", sendsJSON).must(t, http.StatusMethodNotAllowed).problem(t, "").says(t, "Allow: POST")
	for _, header := range []string{"Content-Type: text/plain", "Content-Type: application/x-www-form-urlencoded", "Accept: */*"} {
		send(t, http.MethodPost, "http://"+p.admin+evaluatePath, `{"subject":"alice"}`, header).must(t, http.StatusUnsupportedMediaType).problem(t, "")
	}
	p.evaluate(t, padded+strings.Repeat(" ", 64<<10-len(padded))).must(t, http.StatusOK)
	p.evaluate(t, `{"subject":"alice"}`).must(t, http.StatusOK).says(t, "X-RateLimit-Remaining: 99") // none of the above was charged
}

func TestAdmin_aPageOfAnotherSiteIsRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := serve(t, limiting(t, server.Addr(), "", fixedWindow("api", 100)))
	for _, row := range []struct {
		sentence string
		headers  []string
		status   int
	}{
		{"a page of another origin", []string{"Origin: https://evil.example"}, 403},
		{"a page without an origin", []string{"Origin: null"}, 403},
		{"a page of another site", []string{"Sec-Fetch-Site: cross-site"}, 403},
		{"a page of the same site on another port", []string{"Sec-Fetch-Site: same-site"}, 403},
		{"a page under a name that leads here", []string{"Host: evil.example"}, 403},
		{"the same with its own origin", []string{"Host: evil.example:9090", "Origin: http://evil.example:9090"}, 403},
		{"this machine by name", []string{"Host: localhost:9090"}, 200},
		{"this machine by IPv6", []string{"Host: [::1]:9090"}, 200},
		{"a page of its own", []string{"Origin: http://" + p.admin, "Sec-Fetch-Site: same-origin"}, 200},
		{"no page", nil, 200},
	} {
		if got := p.evaluate(t, `{"subject":"alice"}`, row.headers...); got.status != row.status {
			t.Errorf("%s: got %d, want %d", row.sentence, got.status, row.status)
		}
	}
	for _, header := range []string{"Origin: https://evil.example", "Sec-Fetch-Site: cross-site"} {
		get(t, "http://"+p.admin+authorizePath, header).must(t, http.StatusForbidden).problem(t, "")
	}
	p.evaluate(t, `{"subject":"alice"}`).must(t, http.StatusOK).says(t, "X-RateLimit-Remaining: 95") // the four above, and this one
}

const adminToken = "planted-admin-token-0123456789abcdef"

func TestAdmin_aListenerForEverybodyDemandsItsToken(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	open := limiting(t, server.Addr(), "", fixedWindow("api", 100)).with("app.server.admin-listen", "0.0.0.0:0")
	if said := refused(t, open, 2); !strings.Contains(said, "app.server.admin-token-file") {
		t.Errorf("got %q, want it to name the token file", said)
	}
	p := serve(t, open.with("app.server.admin-token-file", secretFile(t, adminToken)))
	_, port, err := net.SplitHostPort(p.admin)
	if err != nil {
		t.Fatal(err)
	}
	base := "http://127.0.0.1:" + port
	eventually(t, "readiness", func() bool { return get(t, base+"/readyz").status == http.StatusOK })
	get(t, base+"/healthz").must(t, http.StatusOK)
	for _, path := range []string{"/metrics", evaluatePath, authorizePath, authorizePath + "/x", "/nothing"} {
		for _, headers := range [][]string{
			nil, {"Authorization: Bearer " + adminToken[1:]}, {"Authorization: Basic " + adminToken}, {"Authorization: " + adminToken},
			{"Authorization: Bearer " + adminToken, "Authorization: Bearer " + adminToken},
		} {
			send(t, http.MethodPost, base+path, `{"subject":"alice"}`, append(headers, sendsJSON)...).
				must(t, http.StatusUnauthorized).problem(t, "").says(t, `WWW-Authenticate: Bearer realm="edgelimit admin"`)
		}
	}
	bearer := "Authorization: Bearer " + adminToken
	get(t, base+"/metrics", bearer).must(t, http.StatusOK)
	get(t, base+authorizePath, bearer).must(t, http.StatusOK)
	send(t, http.MethodPost, base+evaluatePath, `{"subject":"alice"}`, bearer, sendsJSON, "Host: limiter.internal").
		must(t, http.StatusOK).says(t, "X-RateLimit-Remaining: 99")
}

// proxies are the ways in which the usual proxies ask authorize about a POST of
// /search?q=1.
var proxies = []struct {
	name, method, suffix string
	headers              []string
}{
	{"nginx", http.MethodGet, "", []string{"X-Original-Uri: /search?q=1", "X-Original-Method: POST"}},
	{"Traefik", http.MethodGet, "", []string{"X-Forwarded-Method: POST", "X-Forwarded-Uri: /search?q=1", "X-Forwarded-Host: shop.example", "X-Forwarded-Proto: https"}},
	{"Caddy", http.MethodGet, "?from=caddy", []string{"X-Forwarded-Method: POST", "X-Forwarded-Uri: /search?q=1", "Origin: https://shop.example"}},
	{"Envoy", http.MethodPost, "/search?q=1", nil},
}

func TestAuthorize_answersEveryProxyInItsWay(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := limiting(t, server.Addr(), "", fixedWindow("api", 1000), fixedWindow("search", 2)).
		with("app.server.trusted-proxies", []string{"127.0.0.1"}).
		with("app.rate-limit.routes", []route{{"path": "/search", "methods": []string{http.MethodPost}, "policy": "search"}})
	p := serve(t, s)
	ask := func(i int, base string) reply {
		proxy := proxies[i]
		return send(t, proxy.method, base+authorizePath+proxy.suffix, "a body that nobody reads",
			append(proxy.headers, "X-Forwarded-For: 203.0.113."+numeral(i+1))...)
	}
	for i, proxy := range proxies {
		t.Run(proxy.name, func(t *testing.T) {
			for remaining, base := range []string{"http://" + p.listen, "http://" + p.admin} {
				got := ask(i, base).must(t, http.StatusOK).says(t, "X-RateLimit-Limit: 2", "X-RateLimit-Remaining: "+numeral(1-remaining), "Cache-Control: no-store")
				if got.body != "" {
					t.Errorf("got the body %q, want none", got.body)
				}
			}
			ask(i, "http://"+p.admin).must(t, http.StatusTooManyRequests).problem(t, "evaluated").says(t, "X-RateLimit-Limit: 2")
		})
	}
	for _, headers := range [][]string{
		{"X-Forwarded-Uri: /search", "X-Forwarded-Uri: /other"},
		{"X-Forwarded-Uri: /search", "X-Original-Uri: /other"},
		{"X-Forwarded-Uri: not a path"},
		{"X-Forwarded-Uri: /a/../search"},
		{"X-Original-Uri: //search"},
	} {
		get(t, "http://"+p.admin+authorizePath, headers...).must(t, http.StatusBadRequest).problem(t, "")
	}
	for _, method := range []string{"PUT", "DELETE", "OPTIONS", "HEAD", "PURGE", "FOO"} {
		send(t, method, "http://"+p.admin+authorizePath+"/any/path", "").must(t, http.StatusOK).says(t, "X-RateLimit-Limit: 1000")
	}
	server.Kill(t)
	for i := range proxies {
		got := ask(i, "http://"+p.listen).must(t, http.StatusServiceUnavailable)
		if outcome := got.object(t)["outcome"]; outcome != "unavailable" && outcome != "indeterminate" {
			t.Errorf("got the outcome %v without Redis", outcome)
		}
	}
}

func TestAuthorize_isAloneOnAMainListenerWithoutAnUpstream(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := serve(t, limiting(t, server.Addr(), "", fixedWindow("api", 10)))
	get(t, "http://"+p.listen+authorizePath).must(t, http.StatusOK)
	for _, path := range []string{"/", evaluatePath, "/healthz", "/metrics", authorizePath + "s"} {
		send(t, http.MethodPost, "http://"+p.listen+path, `{"subject":"alice"}`, sendsJSON).must(t, http.StatusNotFound).problem(t, "")
	}
}
