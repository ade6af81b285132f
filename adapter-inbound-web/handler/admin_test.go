package handler_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/handler"
)

var token = strings.Repeat("t", 32)

// admin is an open handler behind the guard.
func admin(t testing.TB, token []byte) http.Handler {
	t.Helper()
	guard, err := handler.Admin(token)
	if err != nil {
		t.Fatal(err)
	}
	return guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
}

func to(host, method, path string, header ...string) *http.Request {
	r := asking("127.0.0.1:1", method, path, header...)
	r.Host = host
	return r
}

func TestAdmin_token(t *testing.T) {
	h := admin(t, []byte(token))
	for _, row := range []struct {
		sentence string
		request  *http.Request
		status   int
	}{
		{"the token opens", to("admin.example", "GET", "/metrics", "Authorization", "Bearer "+token), 200},
		{"whatever the scheme's capitals", to("admin.example", "POST", handler.EvaluatePath, "Authorization", "bearer "+token), 200},
		{"health needs none", to("admin.example", "GET", "/healthz"), 200},
		{"readiness needs none", to("admin.example", "GET", "/readyz"), 200},
		{"what looks like health does", to("admin.example", "GET", "/healthz/../metrics"), 401},
		{"below health does", to("admin.example", "GET", "/healthz/x"), 401},
		{"metrics need it", to("admin.example", "GET", "/metrics"), 401},
		{"evaluate needs it", to("localhost", "POST", handler.EvaluatePath), 401},
		{"authorize needs it", to("localhost", "GET", handler.AuthorizePath), 401},
		{"a wrong one is refused", to("admin.example", "GET", "/metrics", "Authorization", "Bearer "+token[1:]+"x"), 401},
		{"the beginning of it is refused", to("admin.example", "GET", "/metrics", "Authorization", "Bearer "+token[1:]), 401},
		{"an empty one is refused", to("admin.example", "GET", "/metrics", "Authorization", "Bearer "), 401},
		{"another scheme is refused", to("admin.example", "GET", "/metrics", "Authorization", "Basic "+token), 401},
		{"the token alone is refused", to("admin.example", "GET", "/metrics", "Authorization", token), 401},
		{"two lines are refused", to("admin.example", "GET", "/metrics", "Authorization", "Bearer "+token, "Authorization", "Bearer "+token), 401},
		{"a page that knows it is still a page", to("admin.example", "POST", handler.EvaluatePath, "Authorization", "Bearer "+token, "Sec-Fetch-Site", "cross-site"), 403},
	} {
		w := do(h, row.request)
		if w.Code != row.status || (w.Header().Get("WWW-Authenticate") != "") != (row.status == 401) {
			t.Errorf("%s: got %d, %v; want %d", row.sentence, w.Code, w.Header(), row.status)
		}
		if w.Code != http.StatusOK {
			problem(t, w)
		}
	}
}

func TestAdmin_tokenIsLongEnough(t *testing.T) {
	for _, short := range []string{"", token[1:]} {
		if _, err := handler.Admin([]byte(short)); err == nil {
			t.Errorf("a token of %d bytes is accepted", len(short))
		}
	}
}

func TestAdmin_hostIsLoopbackWithoutAToken(t *testing.T) {
	h := admin(t, nil)
	for host, status := range map[string]int{
		"localhost": 200, "LOCALHOST:9090": 200, "localhost.": 200, "127.0.0.1": 200, "127.0.0.1:9090": 200, "127.8.9.1:1": 200,
		"[::1]:9090": 200, "[::1]": 200, "[::ffff:127.0.0.1]:1": 200,
		"": 403, "evil.example": 403, "evil.example:9090": 403, "127.0.0.1.evil.example": 403, "localhost.evil.example": 403,
		"evil-localhost": 403, "10.0.0.1:9090": 403, "0.0.0.0": 403, "[::]:9090": 403, "127.1": 403,
	} {
		if w := do(h, to(host, "POST", handler.EvaluatePath)); w.Code != status {
			t.Errorf("Host %q: got %d, want %d", host, w.Code, status)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", handler.AuthorizePath} {
		if w := do(h, to("public.example", "GET", path)); w.Code != http.StatusOK {
			t.Errorf("%s: got %d; want 200 for any Host, which proxies pass on", path, w.Code)
		}
	}
}

func TestAdmin_refusesPagesOfOtherSites(t *testing.T) {
	h := admin(t, nil)
	const at = handler.AuthorizePath
	for _, row := range []struct {
		sentence string
		request  *http.Request
		status   int
	}{
		{"a cross-site POST", to("localhost:9090", "POST", handler.EvaluatePath, "Sec-Fetch-Site", "cross-site"), 403},
		{"a same-site POST", to("localhost:9090", "POST", handler.EvaluatePath, "Sec-Fetch-Site", "same-site"), 403},
		{"a POST from another port", to("localhost:9090", "POST", handler.EvaluatePath, "Origin", "http://localhost:3000"), 403},
		{"a POST from another site", to("localhost:9090", "POST", "/anything", "Origin", "https://evil.example"), 403},
		{"a POST from an opaque origin", to("localhost:9090", "POST", handler.EvaluatePath, "Origin", "null"), 403},
		{"a preflight", to("localhost:9090", "OPTIONS", handler.EvaluatePath, "Origin", "https://evil.example"), 403},
		{"an image that would be charged", to("localhost:9090", "GET", at, "Sec-Fetch-Site", "cross-site"), 403},
		{"a POST from its own origin", to("localhost:9090", "POST", handler.EvaluatePath, "Origin", "http://localhost:9090", "Sec-Fetch-Site", "same-origin"), 200},
		{"a link to a page", to("localhost:9090", "GET", "/metrics", "Sec-Fetch-Site", "cross-site"), 200},
		{"no browser", to("localhost:9090", "POST", handler.EvaluatePath), 200},
		{"a proxy that asks about a page's request", to("public.example", "POST", at, "X-Forwarded-Uri", "/", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"), 200},
	} {
		if w := do(h, row.request); w.Code != row.status {
			t.Errorf("%s: got %d, want %d", row.sentence, w.Code, row.status)
		}
	}
}

func TestAdmin_aFormReachesNothing(t *testing.T) {
	guard, err := handler.Admin(nil)
	if err != nil {
		t.Fatal(err)
	}
	port := catalogue()
	h := guard(endpoints(t, trusting(port)))
	r := httptest.NewRequest(http.MethodPost, handler.EvaluatePath, strings.NewReader(`{"subject":"acme"}`))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "text/plain")
	if w := do(h, r); w.Code != http.StatusUnsupportedMediaType || len(port.Asked()) != 0 {
		t.Errorf("got %d, asked %d times; want 415, never", w.Code, len(port.Asked()))
	}
}
