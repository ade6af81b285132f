package e2e_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// asked is one question and both programs' answers to it.
type asked struct{ right, ahead reply }

// TestClock_anHourAheadChangesNoNumber asks two programs of one Redis in turn
// about subjects whose allowance is used up, so that neither changes what the
// other sees. Only the time between two questions may show.
func TestClock_anHourAheadChangesNoNumber(t *testing.T) {
	t.Parallel()
	skewed, err := hourAhead()
	if err != nil {
		t.Fatal(err)
	}
	server := redistest.Start(t)
	s := limiting(t, server.Addr(), "", fixedWindow("fixed", 1), slidingCounter("sliding", 1), tokenBucket("bucket", 1)).
		with("app.rate-limit.routes", []route{
			{"path": "/sliding", "policy": "sliding"}, {"path": "/bucket", "policy": "bucket"},
		})
	right, ahead := serve(t, s), serveBy(t, skewed, s)
	if off := clockOf(t, ahead).Sub(clockOf(t, right)); off < 50*time.Minute || off > 70*time.Minute {
		t.Fatalf("the second program's clock is %v ahead, want an hour", off)
	}
	for _, policy := range []string{"fixed", "sliding", "bucket"} {
		compareHeaders(t, "http://"+right.admin, "http://"+ahead.admin, policy)
		compareNumbers(t, server, "http://"+right.admin, "http://"+ahead.admin, policy)
	}
}

// clockOf is the wall clock of a process, from its Date header.
func clockOf(t *testing.T, p *process) time.Time {
	t.Helper()
	at, err := http.ParseTime(get(t, "http://"+p.admin+"/healthz").header.Get("Date"))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func compareHeaders(t *testing.T, right, ahead, policy string) {
	t.Helper()
	path := "/v1/rate-limit/authorize/" + policy
	get(t, right+path).must(t, http.StatusOK)
	// Seconds tick: a pair around a tick is asked again, another difference stays.
	same := func(a asked) bool {
		if a.right.body != a.ahead.body {
			return false
		}
		a.right.header, a.ahead.header = a.right.header.Clone(), a.ahead.header.Clone()
		a.right.header.Del("Date")
		a.ahead.header.Del("Date")
		return maps.EqualFunc(a.right.header, a.ahead.header, slices.Equal)
	}
	var last asked
	for range 5 {
		last = asked{get(t, right+path).must(t, http.StatusTooManyRequests), get(t, ahead+path).must(t, http.StatusTooManyRequests)}
		if same(last) {
			return
		}
	}
	t.Errorf("%s: the right clock says %v %s, the other %v %s", policy, last.right.header, last.right.body, last.ahead.header, last.ahead.body)
}

func compareNumbers(t *testing.T, server *redistest.Server, right, ahead, policy string) {
	t.Helper()
	ask := func(base string) (object map[string]any, from, to int64) {
		from = redisMillis(t, server)
		got := send(t, http.MethodPost, base+"/v1/rate-limit/evaluate",
			`{"policy":"`+policy+`","subject":"alice"}`, "Content-Type: application/json")
		return got.must(t, http.StatusOK).object(t), from, redisMillis(t, server)
	}
	_, _, _ = ask(right)
	for _, base := range []string{right, ahead} {
		answer, from, to := ask(base)
		reference, _, _ := ask(right)
		observed := member(t, answer, "observedAtMillis")
		if observed < from || observed > to {
			t.Errorf("%s: observed at %d, want Redis' %d to %d", policy, observed, from, to)
		}
		// Whatever counts down does so by Redis' clock: each sum is one instant.
		for name, after := range map[string]string{"resetAfterMillis": "resetAtMillis", "retryAfterMillis": ""} {
			got := member(t, answer, name) + observed
			want := member(t, reference, name) + member(t, reference, "observedAtMillis")
			if after != "" && got != member(t, answer, after) || got != want {
				t.Errorf("%s: %s ends at %d, want %d", policy, name, got, want)
			}
		}
		for _, volatile := range []string{"observedAtMillis", "resetAfterMillis", "retryAfterMillis"} {
			delete(answer, volatile)
			delete(reference, volatile)
		}
		if !maps.EqualFunc(answer, reference, sameValue) {
			t.Errorf("%s: got %v, want %v", policy, answer, reference)
		}
	}
}

// sameValue compares values of JSON, objects included.
func sameValue(a, b any) bool {
	inner, nested := a.(map[string]any)
	other, also := b.(map[string]any)
	if nested && also {
		return maps.EqualFunc(inner, other, sameValue)
	}
	return nested == also && text(a) == text(b)
}
