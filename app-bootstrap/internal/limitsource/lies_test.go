package limitsource_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/cache"
)

// spoil puts value in the place of what the cache holds of a tenant.
func (r *rig) spoil(tenant, value string) {
	r.Helper()
	k, err := cache.NewKey("limits", r.origin()+tenant)
	if err != nil {
		r.Fatal(err)
	}
	e, err := cache.NewEntry([]byte(value), 48*time.Hour)
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	r.cache.Put(ctx, k, e)
}

func TestDocument_isClampedOrRefused(t *testing.T) {
	long := strings.Repeat(" ", 64<<10)
	var own []string
	for i := range 1001 {
		own = append(own, fmt.Sprintf(`"u%d": 1`, i))
	}
	for _, row := range []struct {
		sentence, document string
		want               int // the tenant's limit; below 0: nothing was learnt
	}{
		{"a limit", `{"tenant": 5}`, 5},
		{"zero", `{"tenant": 0}`, 0},
		{"the largest", `{"tenant": 100000}`, 100_000},
		{"one too large", `{"tenant": 100001}`, 100_000},
		{"one below zero", `{"tenant": -1}`, 0},
		{"one beyond 64 bits", `{"tenant": 123456789012345678901234567890}`, 100_000},
		{"one beyond 64 bits below zero", `{"tenant": -123456789012345678901234567890}`, 0},
		{"no limit of the tenant's", `{"user": 5}`, -1},
		{"an empty object", `{}`, -1},
		{"null is no limit", `{"tenant": null}`, -1},
		{"members that are unknown", `{"tenant": 5, "comment": {"tenant": 7}}`, 5},
		{"a fraction", `{"tenant": 5.5}`, -1},
		{"an exponent", `{"tenant": 1e3}`, -1},
		{"a string", `{"tenant": "5"}`, -1},
		{"a boolean", `{"tenant": true}`, -1},
		{"an array", `[{"tenant": 5}]`, -1},
		{"a string alone", `"tenant"`, -1},
		{"null", `null`, -1},
		{"nothing", ``, -1},
		{"half a document", `{"tenant": 5`, -1},
		{"two documents", `{"tenant": 5} {"tenant": 6}`, -1},
		{"more after its end", `{"tenant": 5} x`, -1},
		{"a user's limit that is none", `{"tenant": 5, "users": {"ann": null}}`, -1},
		{"users that are no table", `{"tenant": 5, "users": [1]}`, -1},
		{"a member twice", `{"tenant": 5, "tenant": 6}`, -1},
		{"a member twice, once escaped", `{"tenant": 5, "ten\u0061nt": 6}`, -1},
		{"a member that is escaped", `{"ten\u0061nt": 5}`, 5},
		{"an unknown member twice", `{"tenant": 5, "more": 1, "more": 2}`, -1},
		{"a member in capitals", `{"Tenant": 5}`, -1},
		{"a member in capitals too", `{"tenant": 5, "TENANT": 6}`, 5},
		{"a user twice", `{"tenant": 5, "users": {"ann": 1, "ann": 2}}`, -1},
		{"a key twice", `{"tenant": 5, "keys": {"k": 1, "k": 1}}`, -1},
		{"users that differ by case", `{"tenant": 5, "users": {"ann": 1, "Ann": 2}}`, 5},
		{"a user that is no UTF-8", "{\"tenant\": 5, \"users\": {\"\xff\": 1}}", -1},
		{"a member that is no UTF-8", "{\"tenant\": 5, \"\xff\": 1}", -1},
		{"a user that is half a surrogate pair", `{"tenant": 5, "users": {"\ud800": 1}}`, -1},
		{"a user that is a surrogate pair", `{"tenant": 5, "users": {"\ud83d\ude00": 1}}`, 5},
		{"users and keys that are null", `{"tenant": 5, "users": null, "keys": null}`, 5},
		{"ids that take more room once they are escaped", `{"tenant": 5, "users": {"` + strings.Repeat("\u2028", 20_000) + `": 1}}`, -1},
		{"a document of 64 KiB", `{"tenant": 5}` + long[:(64<<10)-len(`{"tenant": 5}`)], 5},
		{"a document of a byte more", `{"tenant": 5}` + long[:(64<<10)-len(`{"tenant": 5}`)+1], -1},
		{"a thousand users", `{"tenant": 5, "users": {` + strings.Join(own[:1000], ",") + `}}`, 5},
		{"one user more", `{"tenant": 5, "users": {` + strings.Join(own, ",") + `}}`, -1},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			r := newRig(t)
			r.says(row.document)
			r.wantTenant(r.replica(), row.want)
		})
	}
}

func TestFetch_whatIsNoAnswerTeachesNothing(t *testing.T) {
	var elsewhere atomic.Int64
	trap := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		elsewhere.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"tenant": 1}`))
	}))
	defer trap.Close()
	lie := func(status int, header, value string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if header != "Content-Type" {
				w.Header().Set("Content-Type", "application/json")
			}
			w.Header().Set(header, value)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"tenant": 1}`))
		}
	}
	for sentence, answer := range map[string]http.HandlerFunc{
		"a page":               lie(200, "Content-Type", "text/html"),
		"no type":              lie(200, "Content-Type", ""),
		"a redirect":           lie(302, "Location", trap.URL),
		"a permanent redirect": lie(308, "Location", trap.URL),
		"somebody else's 404":  func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) },
		"a failure":            lie(500, "X-Why", "down"),
		"no content":           func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"a refusal":            lie(401, "X-Why", "token"),
		"another success":      lie(203, "X-Why", "proxy"),
		"a body that ends early": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"tenant": 1}`))
		},
		"a connection that breaks": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"a header without end": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", 64<<10))
			lie(200, "X-Why", "")(w, nil)
		},
		"compressed": lie(200, "Content-Encoding", "gzip"),
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRig(t)
			s := r.replica()
			if sentence != "compressed" { // it is read as it stands: JSON that says it is not
				r.does(answer)
				r.wantTenant(s, -1)
			}
			r.says(`{"tenant": 600}`)
			r.pass(claim)
			r.eventually(s, 600)
			r.does(answer)
			r.pass(ttl)
			r.wantTenant(s, 600)
		})
	}
	if elsewhere.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

func TestFetch_aTenantThatIsUnknownThereHasNoLimitsOfItsOwn(t *testing.T) {
	r := newRig(t)
	r.does(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
	})
	one, two := r.replica(), r.replica()
	r.wantTenant(one, -1)
	r.wantTenant(two, -1)
	r.pass(ttl / 2)
	r.wantTenant(one, -1)
	if got := r.questions(); got != 1 {
		t.Errorf("the source was asked %d times, want once: not to know is an answer", got)
	}
}

func TestFetch_idsAreEscapedAndTheTokenIsSent(t *testing.T) {
	r := newRig(t)
	c := r.config()
	c.Token = "s3cret"
	s := r.open(c)
	for _, id := range []string{"acme", "a&tenant=b", "a/../b", "..", "a b", "%2e", "é", "\x00\xff", "#?+=;"} {
		s.Of(t.Context(), id)
		r.mu.Lock()
		q := r.asked[len(r.asked)-1]
		r.mu.Unlock()
		if got := q.URL.Query()["tenant"]; len(got) != 1 || got[0] != id {
			t.Errorf("asked for %q, want %q", got, id)
		}
		if q.URL.Path != "/limits" || q.URL.Query().Get("env") != "test" || q.Method != http.MethodGet {
			t.Errorf("asked %s %s, want what is configured beside the tenant", q.Method, q.URL)
		}
		if got := q.Header.Get("Authorization"); got != "Bearer s3cret" {
			t.Errorf("got the authorization %q", got)
		}
	}
}

func TestLog_namesNoTenantAndRepeatsLittle(t *testing.T) {
	r := newRig(t)
	var log bytes.Buffer
	c := r.config()
	c.Token = "s3cret"
	c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	s := r.open(c)
	r.server.Close()
	for range 20 {
		s.Of(t.Context(), "acme")
		s.Of(t.Context(), "rival")
	}
	if got := strings.Count(log.String(), "\n"); got != 1 {
		t.Errorf("got %d lines, want 1:\n%s", got, &log)
	}
	if !strings.Contains(log.String(), "connection refused") {
		t.Errorf("the log does not say what is wrong:\n%s", &log)
	}
	for _, secret := range []string{"acme", "rival", "s3cret"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log names %s:\n%s", secret, &log)
		}
	}
}

// A source may repeat the tenant that it was asked about, wherever it writes.
func TestLog_quotesNoAnswer(t *testing.T) {
	document := func(text string) string {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
	}
	for sentence, answer := range map[string]string{
		"a limit that is text":           document(`{"tenant": "acme"}`),
		"a limit that is long":           document(`{"tenant": [["acme"]]}`),
		"a user's limit that is text":    document(`{"users": {"acme": "acme"}}`),
		"users that are text":            document(`{"users": "acme"}`),
		"a user twice":                   document(`{"users": {"acme": 1, "acme": 1}}`),
		"a user that is no text":         document(`{"users": {"acme\ud800": 1}}`),
		"no JSON":                        document(`acme`),
		"no HTTP":                        "acme\r\n\r\n",
		"a status that is text":          "HTTP/1.1 acme\r\n\r\n",
		"a header without a colon":       "HTTP/1.1 200 OK\r\nacme\r\n\r\n",
		"a length that is text":          "HTTP/1.1 200 OK\r\nContent-Length: acme\r\n\r\n",
		"an encoding that is unknown":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: acme\r\n\r\n",
		"a redirect that is no URL":      "HTTP/1.1 302 Found\r\nLocation: http://[acme\r\n\r\n",
		"a type that is none":            "HTTP/1.1 200 OK\r\nContent-Type: acme;\r\nContent-Length: 0\r\n\r\n",
		"a chunk that is none":           "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nacme\r\n",
		"a trailer that is none":         "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nacme\r\n\r\n",
		"a reason beside another status": "HTTP/1.1 503 acme\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRig(t)
			r.does(func(w http.ResponseWriter, _ *http.Request) { hijack(t, w, answer) })
			var log bytes.Buffer
			c := r.config()
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
			s := r.open(c)
			r.wantTenant(s, -1)
			s.Close()
			if got := log.String(); strings.Count(got, "\n") != 1 || strings.Contains(got, "acme") {
				t.Errorf("got the log %q, want one line that quotes nothing", got)
			}
		})
	}
}

// hijack answers text as it stands, and hangs up.
func hijack(t *testing.T, w http.ResponseWriter, text string) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	_, _ = connection.Write([]byte(text))
	_ = connection.Close()
}
