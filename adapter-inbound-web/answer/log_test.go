package answer_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/answer"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/internal/edgetest"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

var (
	tenant = answer.Bound{PolicyID: "tenant", Limit: 10}
	user   = answer.Bound{PolicyID: "user", Limit: 5}
)

func TestOfLog_staysWithinTheLimit(t *testing.T) {
	for _, row := range []struct {
		said      int
		remaining int64
	}{{-1, 0}, {0, 0}, {7, 7}, {11, 10}} {
		v := slidinglog.Verdict{Allowed: true, Outer: slidinglog.Layer{Remaining: row.said, ResetAfter: time.Millisecond}}
		a := answer.OfLog(v, tenant, answer.Bound{})
		if !a.Allows() || a.Limit != 10 || a.Remaining != row.remaining || a.ResetSeconds != 1 || a.RetryAfterSeconds != 0 {
			t.Errorf("%d remaining: got %+v", row.said, a)
		}
	}
}

func TestOfLog_theZeroVerdictDenies(t *testing.T) {
	a := answer.OfLog(slidinglog.Verdict{}, tenant, user)
	if a.Allows() || a.Status != http.StatusTooManyRequests || a.RetryAfterSeconds != 1 || len(a.Problem.ViolatedPolicies) != 2 {
		t.Errorf("got %+v", a)
	}
}

func TestOfLogFailure_neverAllows(t *testing.T) {
	for _, row := range []struct {
		err    error
		status int
		retry  int64
	}{
		{slidinglog.ErrInvalid, 400, 0},
		{slidinglog.ErrUnavailable, 503, 1},
		{slidinglog.ErrUnknown, 503, 1},
		{slidinglog.ErrClockUnsafe, 503, 1},
		{slidinglog.ErrIncompatible, 503, 0},
		{errors.New("other"), 503, 0},
		{nil, 503, 0},
	} {
		if a := answer.OfLogFailure(row.err); a.Allows() || a.Status != row.status || a.RetryAfterSeconds != row.retry {
			t.Errorf("%v: got %+v", row.err, a)
		}
	}
}

func TestTighter_ofALocalDecision(t *testing.T) {
	edge, local := answer.Of(edgetest.Allowed(10, 5)), answer.OfLog(slidinglog.Verdict{Allowed: true, Outer: slidinglog.Layer{Remaining: 7}}, tenant, answer.Bound{})
	local.Local = true
	if got := edge.Tighter(local); !got.Local || got.Remaining != 5 {
		t.Errorf("both allow: got %+v, want the edge's numbers, local", got)
	}
	if got := local.Tighter(answer.Of(edgetest.Denied(10, 0, time.Second))); got.Local || got.Status != 429 {
		t.Errorf("the other denies: got %+v, want its answer as it is", got)
	}
}

func TestTighter_aDenialOnATie(t *testing.T) {
	edge := answer.Of(edgetest.Allowed(100, 0))
	denied := answer.OfLog(slidinglog.Verdict{RetryAfter: 9 * time.Second, Outer: slidinglog.Layer{ResetAfter: 9 * time.Second}}, tenant, answer.Bound{})
	got := edge.Tighter(denied)
	if got.Status != 429 || got.Limit != 100 || got.ResetSeconds != 2 || got.RetryAfterSeconds != 9 {
		t.Errorf("got %+v, want the denier's answer with the first's limit and reset", got)
	}
}

func TestOfLog_underLimitZeroPromisesNoReturn(t *testing.T) {
	for limit, returns := range map[int]bool{0: false, 1: true} {
		a := answer.OfLog(slidinglog.Verdict{RetryAfter: time.Second}, answer.Bound{PolicyID: "tenant", Limit: limit}, answer.Bound{})
		if got := strings.Contains(a.Problem.Detail, "Retry-After"); got != returns || got != (a.RetryAfterSeconds > 0) {
			t.Errorf("limit %d: got %q and a Retry-After of %d s", limit, a.Problem.Detail, a.RetryAfterSeconds)
		}
	}
}
