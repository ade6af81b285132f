package answer_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/answer"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/internal/edgetest"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// nowhere is a writer of a response that is not sent.
type nowhere struct{ header http.Header }

func (w nowhere) Header() http.Header         { return w.header }
func (w nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (w nowhere) WriteHeader(int)             {}

func BenchmarkWrite_denied(b *testing.B) {
	denied := edgetest.Denied(1000, 0, 7*time.Second)
	w := nowhere{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		answer.Of(denied).Write(w)
	}
}

func BenchmarkSetHeaders(b *testing.B) {
	allowed := answer.Of(edgetest.Allowed(1000, 999))
	h := http.Header{"Date": {"any"}, "Content-Type": {"text/plain"}, "Content-Length": {"5"}, "Etag": {"a"}, "Vary": {"Accept"}}
	b.ReportAllocs()
	for b.Loop() {
		allowed.SetHeaders(h)
	}
}

func TestOfLog_anAllowAllocatesNothing(t *testing.T) {
	v := slidinglog.Verdict{Allowed: true, Outer: slidinglog.Layer{Remaining: 7}, Inner: slidinglog.Layer{Remaining: 5}}
	if got := testing.AllocsPerRun(1000, func() { answer.OfLog(v, tenant, user) }); got != 0 {
		t.Errorf("%v allocations, want none", got)
	}
}
