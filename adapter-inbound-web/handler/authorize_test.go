package handler_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/handler"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/internal/edgetest"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/route"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/subject"
)

func nameOf(s string) subject.Subject { return subject.Name(s) }

const (
	proxy    = "10.0.0.1:1"
	stranger = "198.51.100.9:1"
)

func asking(peer, method, target string, header ...string) *http.Request {
	r := httptest.NewRequest(method, target, nil)
	r.RemoteAddr = peer
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

func trusting(port ratelimit.EdgeRateLimitPort) edgetest.Setup {
	return edgetest.Setup{Port: port, Trusted: []string{"10.0.0.0/8"}, Header: "X-Client-Id", Rules: []route.Rule{
		{Path: "/search/*", Methods: []string{"GET"}, Policy: "search", Cost: 2},
		{Path: "/search/*", Policy: "search", Cost: 4},
	}}
}

func TestAuthorize_judgesTheRequestThatATrustedPeerDescribes(t *testing.T) {
	const at = handler.AuthorizePath
	search, write, other := route.Charge{PolicyID: "search", Cost: 2}, route.Charge{PolicyID: "search", Cost: 4}, route.Charge{PolicyID: "api", Cost: 1}
	for _, row := range []struct {
		sentence string
		request  *http.Request
		who      string
		want     route.Charge
	}{
		{"Traefik and Caddy: X-Forwarded-*", asking(proxy, "GET", at, "X-Forwarded-Method", "POST", "X-Forwarded-Uri", "/search/x?q=1", "X-Forwarded-For", "203.0.113.7"), "203.0.113.7", write},
		{"nginx: X-Original-*", asking(proxy, "GET", at, "X-Original-Method", "GET", "X-Original-URI", "/search?q=1", "X-Forwarded-For", "6.6.6.6, 203.0.113.7"), "203.0.113.7", search},
		{"Envoy: its own method and the rest of the path", asking(proxy, "PUT", at+"/search/x?q=1", "X-Forwarded-For", "203.0.113.7"), "203.0.113.7", write},
		{"a description goes before the rest of the path", asking(proxy, "GET", at+"/other", "X-Forwarded-Uri", "/search"), "10.0.0.1", search},
		{"a described method alone goes with the rest of the path", asking(proxy, "GET", at+"/search", "X-Forwarded-Method", "POST"), "10.0.0.1", write},
		{"an empty description is none", asking(proxy, "GET", at+"/search", "X-Forwarded-Uri", "", "X-Forwarded-Method", ""), "10.0.0.1", search},
		{"two descriptions that agree are one", asking(proxy, "GET", at, "X-Forwarded-Method", "GET", "X-Forwarded-Uri", "/search", "X-Original-Method", "GET", "X-Original-Uri", "/search"), "10.0.0.1", search},
		{"an absolute URI counts by its path", asking(proxy, "GET", at, "X-Forwarded-Uri", "https://public.example/search"), "10.0.0.1", search},
		{"nothing described is the root", asking(proxy, "GET", at), "10.0.0.1", other},
		{"the whole server is no path of a rule", asking(proxy, "GET", at, "X-Forwarded-Method", "OPTIONS", "X-Forwarded-Uri", "*"), "10.0.0.1", other},
		{"a subject header counts", asking(proxy, "GET", at, "X-Client-Id", "acme", "X-Forwarded-For", "203.0.113.7"), "acme", other},
		{"a stranger is judged as itself", asking(stranger, "PUT", at, "X-Forwarded-Method", "GET", "X-Forwarded-Uri", "/search", "X-Original-Uri", "/search", "X-Forwarded-For", "203.0.113.7", "X-Client-Id", "acme"), "198.51.100.9", other},
		{"by its own rest of the path", asking(stranger, "PUT", at+"/search", "X-Forwarded-Method", "GET", "X-Forwarded-Uri", "/other"), "198.51.100.9", write},
		{"a method of one's own is a method", asking(proxy, "PROPFIND", at+"/search"), "10.0.0.1", write},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			port := catalogue()
			router := chi.NewRouter()
			router.Use(handler.New(edgetest.Judge(t, trusting(port))).MountAuthorize)
			router.Get("/healthz", func(http.ResponseWriter, *http.Request) {})
			w := do(router, row.request)
			if w.Code != http.StatusOK || w.Body.Len() > 0 || w.Header().Get("X-RateLimit-Remaining") != "98" || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("got %d %q, %v; want 200, an empty body and the fields", w.Code, w.Body, w.Header())
			}
			want := ratelimit.Request{PolicyID: row.want.PolicyID, Cost: row.want.Cost, SubjectDigest: edgetest.Digest(t, row.who)}
			if asked := port.Asked(); len(asked) != 1 || asked[0] != want {
				t.Errorf("asked %+v, want %+v", asked, want)
			}
		})
	}
}

func TestAuthorize_refusesWhatHasTwoReadings(t *testing.T) {
	const at = handler.AuthorizePath
	for _, row := range []struct {
		sentence string
		request  *http.Request
	}{
		{"a client's description beside its proxy's", asking(proxy, "GET", at, "X-Forwarded-Method", "GET", "X-Forwarded-Uri", "/search", "X-Original-Method", "GET", "X-Original-Uri", "/other")},
		{"a client's method beside its proxy's URI", asking(proxy, "GET", at, "X-Forwarded-Method", "POST", "X-Original-Uri", "/search")},
		{"a header sent twice", asking(proxy, "GET", at, "X-Forwarded-Uri", "/search", "X-Forwarded-Uri", "/other")},
		{"a URI that is no path", asking(proxy, "GET", at, "X-Forwarded-Uri", "search")},
		{"a URI that is opaque", asking(proxy, "GET", at, "X-Forwarded-Uri", "http:search")},
		{"a dot segment described", asking(proxy, "GET", at, "X-Forwarded-Uri", "/x/../search")},
		{"a dot segment in the rest of the path", asking(proxy, "GET", at+"/x/%2e%2e/search")},
		{"an encoded slash in the rest of the path", asking(proxy, "GET", at+"/x%2Fsearch")},
		{"a doubled slash in the rest of the path", asking(stranger, "GET", at+"//search")},
		{"two names", asking(proxy, "GET", at, "X-Client-Id", "a", "X-Client-Id", "b")},
		{"no address", asking("@", "GET", at)},
	} {
		port := catalogue()
		w := do(endpoints(t, trusting(port)), row.request)
		if problem(t, w); w.Code != http.StatusBadRequest || len(port.Asked()) != 0 {
			t.Errorf("%s: got %d, asked %d times; want 400, never", row.sentence, w.Code, len(port.Asked()))
		}
	}
}

func TestAuthorize_deniesLikeTheGateway(t *testing.T) {
	for _, row := range []struct {
		outcome ratelimit.Outcome
		status  int
		member  string
	}{
		{edgetest.Denied(10, 0, time.Second), 429, "evaluated"},
		{ratelimit.Unavailable{}.Outcome(), 503, "unavailable"},
		{ratelimit.Outcome{}, 503, "indeterminate"},
		{ratelimit.Incompatible{Category: ratelimit.IncompatibleRequest}.Outcome(), 503, "incompatible"},
	} {
		w := do(endpoints(t, trusting(edgetest.Always(row.outcome))), asking(stranger, "GET", handler.AuthorizePath))
		if p := problem(t, w); w.Code != row.status || p.Outcome != row.member {
			t.Errorf("got %d %q, want %d %q", w.Code, p.Outcome, row.status, row.member)
		}
	}
}

type untouchable struct{ t *testing.T }

func (u untouchable) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, errors.New("no")
}

func TestAuthorize_neverReadsTheBody(t *testing.T) {
	r := asking(stranger, "POST", handler.AuthorizePath)
	r.Body = io.NopCloser(untouchable{t})
	if w := do(endpoints(t, trusting(catalogue())), r); w.Code != http.StatusOK {
		t.Errorf("got %d, want 200", w.Code)
	}
	server := httptest.NewServer(endpoints(t, trusting(catalogue())))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "POST "+handler.AuthorizePath+" HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n")
	if line, err := bufio.NewReader(conn).ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 200 ") {
		t.Errorf("got %q, %v; want 200 without asking for the body", line, err)
	}
}

func TestAuthorize_isWhereItIsAndNowhereElse(t *testing.T) {
	h := handler.New(edgetest.Judge(t, trusting(catalogue()))).MountAuthorize(http.HandlerFunc(handler.NotFound))
	for _, path := range []string{"/", "/v1/rate-limit/authorized", "/v1/rate-limit/authoriz%65", handler.EvaluatePath, "//v1/rate-limit/authorize"} {
		if w := do(h, asking(stranger, "POST", path)); w.Code != http.StatusNotFound {
			t.Errorf("%s: got %d, want 404", path, w.Code)
		}
	}
}
