package answer_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/answer"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/internal/edgetest"
)

func BenchmarkWrite_denied(b *testing.B) {
	denied := edgetest.Denied(1000, 0, 7*time.Second)
	w := &edgetest.Nowhere{Sent: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.Sent)
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
