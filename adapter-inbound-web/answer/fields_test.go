package answer_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/answer"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/internal/edgetest"
)

// TestFields_sayTheSameAgain: a handler has the header in its hands between two
// calls, and its lines with it.
func TestFields_sayTheSameAgain(t *testing.T) {
	want := http.Header{"X-Ratelimit-Limit": {"1000"}, "X-Ratelimit-Remaining": {"999"}, "X-Ratelimit-Reset": {"2"}}
	for _, row := range []struct {
		sentence string
		meddle   func(h http.Header)
	}{
		{"after nothing", func(http.Header) {}},
		{"after a line was written over", func(h http.Header) { h["X-Ratelimit-Limit"][0] = "7" }},
		{"after a line was added, which is no other field's", func(h http.Header) { h.Add("X-RateLimit-Limit", "7") }},
		{"after a line was moved", func(h http.Header) {
			h["X-Ratelimit-Reset"], h["Retry-After"] = h["X-Ratelimit-Limit"], h["X-Ratelimit-Reset"]
		}},
		{"after all were removed", func(h http.Header) { clear(h) }},
	} {
		fields, h := answer.Of(edgetest.Allowed(1000, 999)).Fields(), http.Header{}
		fields.SetHeaders(h)
		row.meddle(h)
		fields.SetHeaders(h)
		if fmt.Sprint(h) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", row.sentence, h, want)
		}
	}
}

func TestFields_writesIntoNoLineThatItGave(t *testing.T) {
	fields, h := answer.Of(edgetest.Allowed(1000, 999)).Fields(), http.Header{}
	fields.SetHeaders(h)
	h["X-Copy"] = h["X-Ratelimit-Limit"]
	h["X-Copy"][0] += " an hour"
	fields.SetHeaders(h)
	if got, limit := h.Get("X-Copy"), h.Get("X-RateLimit-Limit"); got != "1000 an hour" || limit != "1000" {
		t.Errorf("got %q, and the limit %q; want the handler's line and 1000", got, limit)
	}
}

func TestFields_anAddedLineTouchesNoOtherField(t *testing.T) {
	fields, h := answer.Of(edgetest.Allowed(1000, 999)).Fields(), http.Header{}
	fields.SetHeaders(h)
	h.Add("X-RateLimit-Limit", "7")
	if got := h.Get("X-RateLimit-Remaining"); got != "999" {
		t.Errorf("got %s, want 999", got)
	}
}
