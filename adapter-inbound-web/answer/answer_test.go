package answer_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/answer"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/internal/edgetest"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

func written(o ratelimit.Outcome) *http.Response {
	w := httptest.NewRecorder()
	answer.Of(o).Write(w)
	return w.Result()
}

func TestOf_theTable(t *testing.T) {
	const quota, capacity = answer.TypeQuotaExceeded, answer.TypeReducedCapacity
	for _, row := range []struct {
		sentence   string
		outcome    ratelimit.Outcome
		status     int
		rate       string // limit/remaining/reset
		retryAfter string
		problem    string
		member     string
	}{
		{"allowed passes", edgetest.Allowed(10, 9), 200, "10/9/2", "", "", ""},
		{"denied is 429", edgetest.Denied(10, 0, 1001*time.Millisecond), 429, "10/0/2", "2", quota, "evaluated"},
		{"unavailable is 503", ratelimit.Unavailable{PolicyID: "api", RetryAfter: 2500 * time.Millisecond, Category: ratelimit.UnavailableClock}.Outcome(),
			503, "//", "3", capacity, "unavailable"},
		{"indeterminate is 503", ratelimit.Indeterminate{PolicyID: "api"}.Outcome(), 503, "//", "1", capacity, "indeterminate"},
		{"incompatible is 503 and says no time", ratelimit.Incompatible{PolicyID: "api", Category: ratelimit.IncompatibleState}.Outcome(),
			503, "//", "", capacity, "incompatible"},
		{"an incompatible request is no different", ratelimit.Incompatible{PolicyID: "api", Category: ratelimit.IncompatibleRequest}.Outcome(),
			503, "//", "", capacity, "incompatible"},
		{"the zero outcome denies", ratelimit.Outcome{}, 503, "//", "1", capacity, "indeterminate"},
		{"the zero decision denies", ratelimit.Evaluated{}.Outcome(), 429, "0/0/0", "1", quota, "evaluated"},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			res := written(row.outcome)
			h := res.Header
			rate := h.Get("X-RateLimit-Limit") + "/" + h.Get("X-RateLimit-Remaining") + "/" + h.Get("X-RateLimit-Reset")
			if res.StatusCode != row.status || rate != row.rate || h.Get("Retry-After") != row.retryAfter {
				t.Errorf("got %d, %s, Retry-After %q; want %d, %s, %q",
					res.StatusCode, rate, h.Get("Retry-After"), row.status, row.rate, row.retryAfter)
			}
			allows := row.status == 200
			if got := answer.Of(row.outcome).Allows(); got != allows || got != row.outcome.Allows() {
				t.Errorf("Allows: got %v, want %v", got, allows)
			}
			if got := h.Get("Cache-Control"); (got == "no-store") == allows {
				t.Errorf("Cache-Control: got %q", got)
			}
			var body answer.Problem
			err := json.NewDecoder(res.Body).Decode(&body)
			if allows {
				if err == nil || h.Get("Content-Type") != "" {
					t.Error("an allowing answer has a body")
				}
				return
			}
			if err != nil || h.Get("Content-Type") != answer.ContentType || body.Type != row.problem ||
				body.Status != row.status || body.Outcome != row.member {
				t.Errorf("got %s %+v, %v; want type %s, outcome %s", h.Get("Content-Type"), body, err, row.problem, row.member)
			}
		})
	}
}

func TestOf_namesTheViolatedPolicy(t *testing.T) {
	got := answer.Of(edgetest.Denied(10, 0, time.Second)).Problem.ViolatedPolicies
	if fmt.Sprint(got) != "[api]" {
		t.Errorf("got %v, want the policy's id", got)
	}
}

func TestOf_tellsNoCause(t *testing.T) {
	for _, category := range []ratelimit.UnavailableCategory{
		ratelimit.UnavailableDeadline, ratelimit.UnavailableOverloaded, ratelimit.UnavailableConnection,
		ratelimit.UnavailableCredentials, ratelimit.UnavailableServer, ratelimit.UnavailableClock,
	} {
		body, err := json.Marshal(answer.Of(ratelimit.Unavailable{PolicyID: "secret-policy", Category: category}.Outcome()).Problem)
		if err != nil || strings.Contains(string(body), string(category)) || strings.Contains(string(body), "secret-policy") {
			t.Errorf("%s: the body is %s", category, body)
		}
	}
}

func TestOf_roundsWaitsUpAndHoldsThemInBounds(t *testing.T) {
	const longest = 366 * 24 * 60 * 60
	for _, row := range []struct {
		retryAfter time.Duration
		want       string
	}{
		{0, "1"}, {-time.Second, "1"}, {time.Nanosecond, "1"}, {999 * time.Millisecond, "1"}, {time.Second, "1"},
		{time.Second + time.Nanosecond, "2"}, {1<<63 - 1, strconv.Itoa(longest)},
	} {
		h := written(edgetest.Denied(1, 0, row.retryAfter)).Header
		if got := h.Get("Retry-After"); got != row.want {
			t.Errorf("%v: got Retry-After %q, want %q", row.retryAfter, got, row.want)
		}
	}
	far := ratelimit.Decision{Allowed: true, Limit: 1, ResetAtMillis: ratelimit.MaxSafeInteger}
	if got := answer.Of(ratelimit.Evaluated{Decision: far}.Outcome()).ResetSeconds; got != longest {
		t.Errorf("a reset in ages: got %d, want %d", got, longest)
	}
	past := ratelimit.Decision{Allowed: true, Limit: 1, ObservedAtMillis: 5000}
	if got := answer.Of(ratelimit.Evaluated{Decision: past}.Outcome()).ResetSeconds; got != 0 {
		t.Errorf("a reset that has passed: got %d, want 0", got)
	}
}

func TestOf_remainingIsWithinTheLimit(t *testing.T) {
	for remaining, want := range map[int64]int64{-3: 0, 0: 0, 7: 7, 11: 10} {
		if got := answer.Of(edgetest.Allowed(10, remaining)).Remaining; got != want {
			t.Errorf("%d of 10: got %d, want %d", remaining, got, want)
		}
	}
}

func TestSetHeaders_leavesOneLineOfEach(t *testing.T) {
	h := http.Header{
		"X-Ratelimit-Limit": {"7", "8"}, "x-ratelimit-limit": {"7"}, "X-RateLimit-Remaining": {"7"},
		"Retry-After": {"9"}, "retry-after": {"9"}, "Trailer:X-Ratelimit-Reset": {"7"}, "Cache-Control": {"max-age=60"},
	}
	answer.Of(edgetest.Allowed(10, 9)).SetHeaders(h)
	want := http.Header{"X-Ratelimit-Limit": {"10"}, "X-Ratelimit-Remaining": {"9"}, "X-Ratelimit-Reset": {"2"}, "Cache-Control": {"max-age=60"}}
	if fmt.Sprint(h) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", h, want)
	}
}

func TestStripResponse(t *testing.T) {
	res := &http.Response{
		Header:  http.Header{"X-Ratelimit-Limit": {"7"}, "Retry-After": {"9"}, "X-Other": {"1"}},
		Trailer: http.Header{"X-Ratelimit-Reset": {"7"}},
	}
	if err := answer.StripResponse(res); err != nil || len(res.Header) != 1 || len(res.Trailer) != 0 {
		t.Errorf("got %v, %v, %v; want X-Other alone", res.Header, res.Trailer, err)
	}
}

func TestTighter(t *testing.T) {
	five, six, denied := answer.Of(edgetest.Allowed(10, 5)), answer.Of(edgetest.Allowed(100, 6)), answer.Of(edgetest.Denied(100, 50, time.Second))
	failed := answer.Of(ratelimit.Outcome{})
	for _, row := range []struct {
		sentence   string
		a, b, want answer.Answer
	}{
		{"less remaining is tighter", six, five, five},
		{"in either order", five, six, five},
		{"a denial is tighter than less remaining", five, denied, denied},
		{"a failure is tighter than an allow", five, failed, failed},
		{"on a tie it is the first", five, answer.Of(edgetest.Allowed(200, 5)), five},
	} {
		if got := row.a.Tighter(row.b); fmt.Sprint(got) != fmt.Sprint(row.want) {
			t.Errorf("%s: got %+v", row.sentence, got)
		}
	}
}

func TestAnswer_zeroRefuses(t *testing.T) {
	w := httptest.NewRecorder()
	answer.Answer{}.Write(w)
	if (answer.Answer{}).Allows() || w.Code != http.StatusServiceUnavailable {
		t.Errorf("the zero Answer answers %d", w.Code)
	}
}

func TestRefuse(t *testing.T) {
	w := httptest.NewRecorder()
	answer.Refuse(http.StatusBadRequest, "Say it again.").Write(w)
	want := `{"type":"about:blank","title":"Bad Request","status":400,"detail":"Say it again."}` + "\n"
	if w.Code != 400 || w.Body.String() != want || w.Header().Get("Content-Type") != answer.ContentType {
		t.Errorf("got %d %s, want %s", w.Code, w.Body, want)
	}
}
