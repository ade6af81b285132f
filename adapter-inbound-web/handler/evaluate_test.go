package handler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/answer"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/handler"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/internal/edgetest"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// catalogue is a port that admits the policies api and search at costs up to 5,
// and refuses other requests as a provider does.
func catalogue() *edgetest.Port {
	return &edgetest.Port{Answer: func(_ context.Context, req ratelimit.Request) ratelimit.Outcome {
		known := req.PolicyID == "api" || req.PolicyID == "search"
		if !known || req.Cost < 1 || req.Cost > 5 || !ratelimit.ValidSubjectDigest(req.SubjectDigest) {
			return ratelimit.Incompatible{PolicyID: req.PolicyID, Category: ratelimit.IncompatibleRequest}.Outcome()
		}
		return edgetest.Allowed(100, 98)
	}}
}

// endpoints are both decision endpoints, with 404 for the rest.
func endpoints(t testing.TB, s edgetest.Setup) http.Handler {
	t.Helper()
	return handler.New(edgetest.Judge(t, s)).Mount(http.HandlerFunc(handler.NotFound))
}

func post(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, handler.EvaluatePath, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return r
}

func do(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// problem decodes the body, which must be a problem of the response's status.
func problem(t testing.TB, w *httptest.ResponseRecorder) answer.Problem {
	t.Helper()
	var p answer.Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("%s: %v", w.Body, err)
	}
	if p.Status != w.Code || w.Header().Get("Content-Type") != answer.ContentType || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("a %d answers with %+v, %v", w.Code, p, w.Header())
	}
	return p
}

func TestEvaluate_asks(t *testing.T) {
	digest := strings.Repeat("d", 43)
	for _, row := range []struct {
		sentence, body string
		want           ratelimit.Request
	}{
		{"a name under the default policy at cost 1", `{"subject":"acme"}`,
			ratelimit.Request{PolicyID: "api", SubjectDigest: edgetest.Digest(t, "acme"), Cost: 1}},
		{"all fields", ` {"cost" : 5 , "policy":"search","subjectKind":"name","subject":"acme"} `,
			ratelimit.Request{PolicyID: "search", SubjectDigest: edgetest.Digest(t, "acme"), Cost: 5}},
		{"a digest as it is", `{"subjectDigest":"` + digest + `"}`,
			ratelimit.Request{PolicyID: "api", SubjectDigest: digest, Cost: 1}},
		{"an address in canonical form", `{"subject":"::ffff:198.51.100.7","subjectKind":"ip"}`,
			ratelimit.Request{PolicyID: "api", SubjectDigest: edgetest.Digest(t, "198.51.100.7"), Cost: 1}},
		{"an IPv6 address by its /64", `{"subject":"2001:db8::abcd","subjectKind":"ip"}`,
			ratelimit.Request{PolicyID: "api", SubjectDigest: edgetest.Digest(t, "2001:db8::1"), Cost: 1}},
		{"an escaped letter", `{"subject":"\u0061cme"}`,
			ratelimit.Request{PolicyID: "api", SubjectDigest: edgetest.Digest(t, "acme"), Cost: 1}},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			port := catalogue()
			w := do(endpoints(t, edgetest.Setup{Port: port}), post(row.body))
			if asked := port.Asked(); w.Code != http.StatusOK || len(asked) != 1 || asked[0] != row.want {
				t.Errorf("got %d %s, asked %+v; want %+v", w.Code, w.Body, asked, row.want)
			}
		})
	}
	named := do(endpoints(t, edgetest.Setup{Port: catalogue()}), post(`{"subject":"198.51.100.7"}`))
	if named.Code != http.StatusOK || edgetest.Digester(t).Digest(nameOf("198.51.100.7")) == edgetest.Digest(t, "198.51.100.7") {
		t.Error("an address as a name is the subject of the address")
	}
}

func TestEvaluate_answersInFull(t *testing.T) {
	w := do(endpoints(t, edgetest.Setup{Port: edgetest.Always(edgetest.Denied(100, 1, 1001*time.Millisecond))}), post(`{"subject":"acme","cost":2}`))
	want := `{"outcome":"evaluated","allowed":false,"limit":100,"remaining":1,"retryAfterMillis":1001,"resetAfterMillis":1500,` +
		`"resetAtMillis":1700000001500,"observedAtMillis":1700000000000,"policy":{"id":"api","revision":3},"source":"GLOBAL_REDIS","certainty":"CERTAIN"}` + "\n"
	if w.Code != http.StatusOK || w.Body.String() != want {
		t.Errorf("got %d %swant %s", w.Code, w.Body, want)
	}
	h := w.Header()
	if h.Get("Content-Type") != "application/json" || h.Get("X-RateLimit-Remaining") != "1" || h.Get("Retry-After") != "" || h.Get("Cache-Control") != "no-store" {
		t.Errorf("got %v", h)
	}
}

func TestEvaluate_refusesWhatTheCallerHasToMend(t *testing.T) {
	const digest = `"subjectDigest":"dddddddddddddddd"`
	for _, row := range []struct {
		body   string
		status int
		names  string // what the detail begins with
	}{
		{``, 400, "body"},
		{`null`, 400, "body"},
		{`[]`, 400, "body"},
		{`"x"`, 400, "body"},
		{`{"subject":"a"`, 400, "body"},
		{`{"subject":"a",}`, 400, "body"},
		{`{"subject":"a"}{}`, 400, "body"},
		{`{"subject":"a"} x`, 400, "body"},
		{`{}`, 400, "subject:"},
		{`{"subject":"a",` + digest + `}`, 400, "subject:"},
		{`{"subject":""}`, 400, "subject:"},
		{`{"subject":null}`, 400, "subject:"},
		{`{"subject":1}`, 400, "subject:"},
		{`{"subject":["a"]}`, 400, "subject:"},
		{"{\"subject\":\"a\xff\"}", 400, "subject:"},
		{`{"subject":"\ud800"}`, 400, "subject:"},
		{`{"subject":"a","subject":"a"}`, 400, "subject:"},
		{`{"subject":"a","\u0073ubject":"a"}`, 400, "subject:"},
		{`{"subject":"a","tier":"gold"}`, 400, "body: it has an unknown field"},
		{`{"subject":"a","Subject":"a"}`, 400, "body: it has an unknown field"},
		{`{"SUBJECT":"a"}`, 400, "body: it has an unknown field"},
		{`{"subject":"a","evaluationId":"x"}`, 400, "body: it has an unknown field"},
		{`{"subject":"a","198.51.100.7":1}`, 400, "body: it has an unknown field"},
		{`{"subject":"a","subjectKind":"user"}`, 400, "subjectKind:"},
		{`{"subject":"a","subjectKind":"IP"}`, 400, "subjectKind:"},
		{`{"subject":"a","subjectKind":""}`, 400, "subjectKind:"},
		{`{"subjectKind":"name",` + digest + `}`, 400, "subjectKind:"},
		{`{"subject":"acme","subjectKind":"ip"}`, 400, "subject:"},
		{`{"subject":"10.0.0.0/8","subjectKind":"ip"}`, 400, "subject:"},
		{`{"subjectDigest":"short"}`, 400, "subjectDigest:"},
		{`{"subjectDigest":"dddddddddddddddd:"}`, 400, "subjectDigest:"},
		{`{"subjectDigest":""}`, 400, "subjectDigest:"},
		{`{"subject":"a","policy":"ghost"}`, 404, "policy:"},
		{`{"subject":"a","policy":""}`, 404, "policy:"},
		{`{"subject":"a","policy":null}`, 400, "policy:"},
		{`{"subject":"a","cost":0}`, 400, "cost:"},
		{`{"subject":"a","cost":-1}`, 400, "cost:"},
		{`{"subject":"a","cost":-0}`, 400, "cost:"},
		{`{"subject":"a","cost":0.5}`, 400, "cost:"},
		{`{"subject":"a","cost":1.0}`, 400, "cost:"},
		{`{"subject":"a","cost":1e2}`, 400, "cost:"},
		{`{"subject":"a","cost":1e309}`, 400, "cost:"},
		{`{"subject":"a","cost":"1"}`, 400, "cost:"},
		{`{"subject":"a","cost":""}`, 400, "cost:"},
		{`{"subject":"a","cost":null}`, 400, "cost:"},
		{`{"subject":"a","cost":true}`, 400, "cost:"},
		{`{"subject":"a","cost":[]}`, 400, "cost:"},
		{`{"subject":"a","cost":NaN}`, 400, "body"},
		{`{"subject":"a","cost":01}`, 400, "body"},
		{`{"subject":"a","cost":0x10}`, 400, "body"},
		{`{"subject":"a","cost":6}`, 400, "cost:"},
		{`{"subject":"a","cost":9007199254740993}`, 400, "cost:"},
		{`{"subject":"a","cost":9223372036854775807}`, 400, "cost:"},
		{`{"subject":"a","cost":9223372036854775808}`, 400, "cost:"},
		{`{"subject":` + strings.Repeat(`[`, 1_000) + strings.Repeat(`]`, 1_000) + `}`, 400, "subject:"},
		{`{"subject":` + strings.Repeat(`[`, 10_000) + strings.Repeat(`]`, 10_000) + `}`, 400, "body"},
	} {
		name := row.body
		if len(name) > 60 {
			name = name[:60]
		}
		t.Run(name, func(t *testing.T) {
			w := do(endpoints(t, edgetest.Setup{Port: catalogue()}), post(row.body))
			p := problem(t, w)
			if w.Code != row.status || !strings.HasPrefix(p.Detail, row.names) {
				t.Errorf("got %d %q; want %d %q", w.Code, p.Detail, row.status, row.names)
			}
		})
	}
}

func TestEvaluate_refusesOtherRequests(t *testing.T) {
	h := endpoints(t, edgetest.Setup{Port: catalogue()})
	for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "FOO"} {
		w := do(h, httptest.NewRequest(method, handler.EvaluatePath, nil))
		if problem(t, w); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != http.MethodPost {
			t.Errorf("%s: got %d, Allow %q; want 405, POST", method, w.Code, w.Header().Get("Allow"))
		}
	}
	for _, row := range []struct {
		sentence string
		header   http.Header
		status   int
	}{
		{"no content type", http.Header{}, 415},
		{"a form", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, 415},
		{"plain text, which a page may send anywhere", http.Header{"Content-Type": {"text/plain; a=application/json"}}, 415},
		{"two content types", http.Header{"Content-Type": {"application/json", "application/json"}}, 415},
		{"another character set", http.Header{"Content-Type": {"application/json; charset=latin1"}}, 415},
		{"a compressed body", http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, 415},
		{"UTF-8 said aloud", http.Header{"Content-Type": {"Application/JSON; charset=UTF-8"}}, 200},
	} {
		r := post(`{"subject":"acme"}`)
		r.Header = row.header
		if w := do(h, r); w.Code != row.status {
			t.Errorf("%s: got %d, want %d", row.sentence, w.Code, row.status)
		}
	}
	padded := func(n int) string { return `{"subject":"acme"` + strings.Repeat(" ", n-18) + `}` }
	if w := do(h, post(padded(handler.MaxBody))); w.Code != http.StatusOK {
		t.Errorf("a body of 64 KiB: got %d %s, want 200", w.Code, w.Body)
	}
	for _, n := range []int{handler.MaxBody + 1, 10 << 20} {
		if w := do(h, post(padded(n))); problem(t, w).Status != http.StatusRequestEntityTooLarge {
			t.Errorf("a body of %d: got %d, want 413", n, w.Code)
		}
	}
	if w := do(h, httptest.NewRequest("POST", "/v1/rate-limit/evaluate/x", nil)); w.Code != http.StatusNotFound {
		t.Errorf("below evaluate: got %d, want 404", w.Code)
	}
}

func TestEvaluate_bodyThatBreaksOff(t *testing.T) {
	r := post("")
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"subject":"acme"}`), brokenReader{}))
	if w := do(endpoints(t, edgetest.Setup{Port: catalogue()}), r); w.Code != http.StatusBadRequest {
		t.Errorf("got %d, want 400", w.Code)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestEvaluate_withoutADecision(t *testing.T) {
	for _, row := range []struct {
		outcome    ratelimit.Outcome
		member     string
		retryAfter string
	}{
		{ratelimit.Unavailable{RetryAfter: time.Millisecond, Category: ratelimit.UnavailableServer}.Outcome(), "unavailable", "1"},
		{ratelimit.Indeterminate{}.Outcome(), "indeterminate", "1"},
		{ratelimit.Incompatible{Category: ratelimit.IncompatibleReply}.Outcome(), "incompatible", ""},
	} {
		w := do(endpoints(t, edgetest.Setup{Port: edgetest.Always(row.outcome)}), post(`{"subject":"acme"}`))
		if p := problem(t, w); w.Code != 503 || p.Outcome != row.member || w.Header().Get("Retry-After") != row.retryAfter {
			t.Errorf("got %d %q, Retry-After %q; want 503 %q, %q", w.Code, p.Outcome, w.Header().Get("Retry-After"), row.member, row.retryAfter)
		}
	}
	refused := ratelimit.Incompatible{Category: ratelimit.IncompatibleRequest}.Outcome()
	w := do(endpoints(t, edgetest.Setup{Port: edgetest.Always(refused)}), post(`{"subject":"acme"}`))
	if p := problem(t, w); w.Code != 400 || p.Outcome != "incompatible" {
		t.Errorf("a request that the port refuses: got %d %q, want 400", w.Code, p.Outcome)
	}
}

func FuzzEvaluate(f *testing.F) {
	for _, seed := range []string{`{"subject":"acme"}`, `{"subject":"acme","cost":2,"policy":"api"}`, `{"subjectDigest":"dddddddddddddddd"}`,
		`{"subject":"::1","subjectKind":"ip"}`, `{"subject":"a","subject":"b"}`, `{"subject":[`, `{"cost":1e2}`, `{"a":{"b":[]}}`, "\xff"} {
		f.Add([]byte(seed))
	}
	var last ratelimit.Request
	decide := catalogue().Answer
	port := portFunc(func(ctx context.Context, req ratelimit.Request) ratelimit.Outcome {
		last = req
		return decide(ctx, req)
	})
	h := handler.New(edgetest.Judge(f, edgetest.Setup{Port: port})).Mount(http.NotFoundHandler())
	f.Fuzz(func(t *testing.T, body []byte) {
		w := do(h, post(string(body)))
		if w.Code != http.StatusOK && (w.Code < 400 || w.Code > 499) {
			t.Fatalf("got %d %s", w.Code, w.Body)
		}
		if w.Code != http.StatusOK {
			return
		}
		asked := last
		var fields map[string]any
		if err := json.Unmarshal(body, &fields); err != nil {
			t.Fatalf("%q was accepted: %v", body, err)
		}
		again, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		if w := do(h, post(string(again))); w.Code != http.StatusOK || last != asked {
			t.Fatalf("%q and %q are asked differently: %d", body, again, w.Code)
		}
	})
}

// portFunc remembers nothing, unlike edgetest.Port.
type portFunc func(context.Context, ratelimit.Request) ratelimit.Outcome

func (f portFunc) Evaluate(ctx context.Context, req ratelimit.Request) ratelimit.Outcome {
	return f(ctx, req)
}

func ExampleDecisions_Mount() {
	var t testing.T
	decisions := handler.New(edgetest.Judge(&t, edgetest.Setup{Port: edgetest.Counting(10)}))
	h := decisions.Mount(http.HandlerFunc(handler.NotFound))
	w := do(h, post(`{"subject":"acme","cost":3}`))
	var body struct {
		Allowed   bool
		Remaining int
	}
	_ = json.Unmarshal(w.Body.Bytes(), &body)
	fmt.Println(w.Code, body.Allowed, body.Remaining)
	// Output: 200 true 7
}
