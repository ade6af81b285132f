package edge_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/edge"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/internal/edgetest"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/route"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

func TestNewJudge_listsEverythingThatIsMissing(t *testing.T) {
	_, err := edge.NewJudge(edge.Config{})
	for _, want := range []string{"no port", "no digester", "no resolver", "no table", "budget"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}

func TestJudge_asksThePortOnceForWhatTheRouteCosts(t *testing.T) {
	port := edgetest.Always(edgetest.Allowed(100, 99))
	j := edgetest.Judge(t, edgetest.Setup{Port: port, Rules: []route.Rule{{Path: "/search/*", Policy: "search", Cost: 2}}})
	r := httptest.NewRequest(http.MethodGet, "/search/x", nil)
	r.RemoteAddr = "198.51.100.9:1"
	if a := j.Judge(r, r.Method, r.URL); !a.Allows() {
		t.Errorf("got %+v, want an allow", a)
	}
	want := ratelimit.Request{PolicyID: "search", SubjectDigest: edgetest.Digest(t, "198.51.100.9"), Cost: 2}
	if asked := port.Asked(); len(asked) != 1 || asked[0] != want {
		t.Errorf("asked %+v, want %+v once", asked, want)
	}
}

func TestJudge_refusesBeforeAsking(t *testing.T) {
	long := strings.Repeat("a", 257)
	for _, row := range []struct {
		sentence, target, peer string
		names                  []string
	}{
		{"a dot segment", "/a/%2e%2e/b", "198.51.100.9:1", nil},
		{"an opaque target", "http:admin", "198.51.100.9:1", nil},
		{"two subject headers", "/", "10.0.0.1:1", []string{"a", "b"}},
		{"a long subject header", "/", "10.0.0.1:1", []string{long}},
		{"a peer without an address", "/", "@", nil},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			port := edgetest.Always(edgetest.Allowed(100, 99))
			j := edgetest.Judge(t, edgetest.Setup{Port: port, Trusted: []string{"10.0.0.0/8"}, Header: "X-Client-Id"})
			r := httptest.NewRequest(http.MethodGet, row.target, nil)
			r.RemoteAddr = row.peer
			r.Header["X-Client-Id"] = row.names
			a := j.Judge(r, r.Method, r.URL)
			if a.Status != http.StatusBadRequest || len(port.Asked()) != 0 {
				t.Errorf("got %d, the port was asked %d times; want 400 and never", a.Status, len(port.Asked()))
			}
			for _, secret := range append(row.names, row.target, row.peer) {
				if len(secret) > 1 && strings.Contains(a.Problem.Detail, secret) {
					t.Errorf("the detail repeats the request: %s", a.Problem.Detail)
				}
			}
		})
	}
}

func TestJudge_forwardsRawPathsWhenTold(t *testing.T) {
	port := edgetest.Always(edgetest.Allowed(100, 99))
	j := edgetest.Judge(t, edgetest.Setup{Port: port, RawPaths: route.ForwardRawPaths,
		Rules: []route.Rule{{Path: "/search", Policy: "search", Cost: 1}}})
	r := httptest.NewRequest(http.MethodGet, "/x/..//search", nil)
	if a := j.Judge(r, r.Method, r.URL); !a.Allows() || port.Asked()[0].PolicyID != "search" {
		t.Errorf("got %+v, asked %+v; want the policy of the cleaned path", a, port.Asked())
	}
}

func TestEvaluate_deadlineIsTheBudgetOrLess(t *testing.T) {
	var deadline time.Time
	port := &edgetest.Port{Answer: func(ctx context.Context, _ ratelimit.Request) ratelimit.Outcome {
		deadline, _ = ctx.Deadline()
		return edgetest.Allowed(1, 0)
	}}
	j := edgetest.Judge(t, edgetest.Setup{Port: port})
	before := time.Now()
	j.Evaluate(context.Background(), ratelimit.Request{})
	after, whole := time.Now(), edgetest.Budget+edge.Slack
	if deadline.Before(before.Add(whole)) || deadline.After(after.Add(whole)) {
		t.Errorf("got a deadline %v after the call, want %v", deadline.Sub(before), whole)
	}
	short, cancel := context.WithDeadline(context.Background(), before.Add(whole/2))
	defer cancel()
	j.Evaluate(short, ratelimit.Request{})
	if !deadline.Equal(before.Add(whole / 2)) {
		t.Errorf("a request with less time: got %v, want its own deadline", deadline.Sub(before))
	}
}
