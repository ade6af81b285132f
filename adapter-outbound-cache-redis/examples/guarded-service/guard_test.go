package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/secret"
	"github.com/edgelimit/edgelimit/shared-contract/subject"
)

// TestGuard_limitsThenFailsClosed spends the bucket, then takes Redis away.
func TestGuard_limitsThenFailsClosed(t *testing.T) {
	shared, err := secret.New([]byte("an example's secret of 32 bytes!"))
	if err != nil {
		t.Fatal(err)
	}
	server := redistest.Start(t)
	limiter, err := openLimiter(server.Addr(), shared)
	if err != nil {
		t.Fatal(err)
	}
	defer limiter.Close()
	if err := limiter.Connection().AwaitFirstAttempt(t.Context()); err != nil {
		t.Fatal(err)
	}
	guarded := guard(limiter, subject.NewDigester(shared), time.Second, http.HandlerFunc(report))
	ask := func() int {
		answer := httptest.NewRecorder()
		guarded.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/report", nil))
		return answer.Code
	}

	// A service that has just started, on a busy machine, may answer 503 before its
	// first connection is open.
	seen := map[int]bool{}
	for begun := time.Now(); !seen[http.StatusTooManyRequests] && time.Since(begun) < 20*time.Second; {
		seen[ask()] = true
	}
	if !seen[http.StatusOK] || !seen[http.StatusTooManyRequests] {
		t.Fatalf("statuses %v, want some 200 and then 429", seen)
	}
	server.Kill(t)
	if got := ask(); got != http.StatusServiceUnavailable {
		t.Fatalf("status %d without Redis, want 503", got)
	}
}
