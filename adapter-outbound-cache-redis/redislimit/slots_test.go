package redislimit_test

import (
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// A server may have slots behind a plain address: a cluster of one.
func TestSlots_aClusterOfOneBehindAPlainAddressServes(t *testing.T) {
	server := redistest.Start(t, "--cluster-enabled", "yes")
	server.Do(t, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	r := newUnreadyRig(t, server)
	r.eventually("have slots", func() bool {
		return server.Do(t, "SET", "any", "value") == "OK"
	})
	r.awaitReady()
	for range 5 {
		if outcomes := r.together(60, "token-bucket"); outcomes[allowed(policyLimit-1)] != 60 {
			t.Errorf("outcomes %v, want 60 allowed", outcomes)
		}
	}
}
