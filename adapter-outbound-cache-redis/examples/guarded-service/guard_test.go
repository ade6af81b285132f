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

	denied := false
	for begun := time.Now(); !denied && time.Since(begun) < 10*time.Second; {
		switch got := ask(); got {
		case http.StatusOK:
		case http.StatusTooManyRequests:
			denied = true
		default:
			t.Fatalf("status %d with Redis at hand", got)
		}
	}
	if !denied {
		t.Fatal("never denied")
	}
	server.Kill(t)
	if got := ask(); got != http.StatusServiceUnavailable {
		t.Fatalf("status %d without Redis, want 503", got)
	}
}
