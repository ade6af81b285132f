package middleware_test

import (
	"testing"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/internal/edgetest"
)

// TestMiddleware_allocations: of a request that the edge allows, four are the context
// with the port's deadline, two the request and its context for the handler, two the
// writer and what it tells, three the lines (before the handler, as it sends, after
// it), and one each the digest, the limit and what remains. A request of an address
// that inbound allows has neither deadline nor digest, and its key and limit. Behind
// the edge inbound adds its key, its limit, what is told now and ... A refusal has no writer, and a body.
func TestMiddleware_allocations(t *testing.T) {
	for _, c := range crossings(t) {
		if got := edgetest.Allocations(served(t, c.handler, c.remote)); got > c.allocations {
			t.Errorf("%s: %v allocations, want %v at most", c.name, got, c.allocations)
		}
	}
}
