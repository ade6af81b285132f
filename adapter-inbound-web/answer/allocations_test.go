package answer_test

import (
	"net/http"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/answer"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/internal/edgetest"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

func TestOfLog_anAllowAllocatesNothing(t *testing.T) {
	v := slidinglog.Verdict{Allowed: true, Outer: slidinglog.Layer{Remaining: 7}, Inner: slidinglog.Layer{Remaining: 5}}
	if got := testing.AllocsPerRun(1000, func() { answer.OfLog(v, tenant, user) }); got != 0 {
		t.Errorf("%v allocations, want none", got)
	}
}

func TestFields_setAgainAllocateTheLinesAlone(t *testing.T) {
	fields, h := answer.Of(edgetest.Allowed(1000, 999)).Fields(), http.Header{"Date": {"any"}}
	if got := testing.AllocsPerRun(1000, func() { fields.SetHeaders(h) }); got > 1 {
		t.Errorf("%v allocations, want 1 at most", got)
	}
}
