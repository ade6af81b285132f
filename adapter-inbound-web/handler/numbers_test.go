package handler_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/handler"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/internal/edgetest"
)

// One denial is told in milliseconds in JSON and in seconds in headers, and is the same.
func TestDecisions_theNumbersOfJSONAndHeadersAgree(t *testing.T) {
	for _, waitMillis := range []int64{1, 999, 1000, 1001, 59_999, 3_600_000} {
		h := endpoints(t, trusting(edgetest.Always(edgetest.Denied(100, 3, time.Duration(waitMillis)*time.Millisecond))))
		evaluated := do(h, post(`{"subject":"acme"}`))
		authorized := do(h, asking(stranger, "GET", handler.AuthorizePath))
		var body struct {
			Limit, Remaining, RetryAfterMillis, ResetAfterMillis int64
		}
		if err := json.Unmarshal(evaluated.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		if want := (struct{ Limit, Remaining, RetryAfterMillis, ResetAfterMillis int64 }{100, 3, waitMillis, 1500}); body != want {
			t.Errorf("got %+v, want %+v", body, want)
		}
		seconds := func(millis int64) string { return strconv.FormatInt((millis+999)/1000, 10) }
		if got, want := authorized.Header().Get("Retry-After"), seconds(body.RetryAfterMillis); got != want {
			t.Errorf("%d ms: got Retry-After %s, want %s", body.RetryAfterMillis, got, want)
		}
		for _, w := range []http.Header{evaluated.Header(), authorized.Header()} {
			if got, want := w.Get("X-RateLimit-Reset"), seconds(body.ResetAfterMillis); got != want || w.Get("X-RateLimit-Remaining") != "3" {
				t.Errorf("%d ms: got X-RateLimit-Reset %s, X-RateLimit-Remaining %s; want %s, 3", body.ResetAfterMillis, got, w.Get("X-RateLimit-Remaining"), want)
			}
		}
	}
}
