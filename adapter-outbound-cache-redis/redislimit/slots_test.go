package redislimit_test

import (
	"net"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// startSlots starts a server that has slots behind a plain address: a cluster of one.
func startSlots(t *testing.T) *redistest.Server {
	t.Helper()
	bus, err := redistest.FreeAddr() // by itself the server would take the port 10000 above its own
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(bus)
	server := redistest.Start(t, "--cluster-enabled", "yes", "--cluster-port", port)
	server.Do(t, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	return server
}

func TestSlots_aClusterOfOneBehindAPlainAddressServes(t *testing.T) {
	t.Parallel()
	server := startSlots(t)
	r := newUnreadyRig(t, server, func(c *redislimit.Config) {
		c.Redis.AdmissionWait, c.Redis.CommandTimeout = groupTimeout, groupTimeout
	})
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

// Batches are tried once, and refused for their keys of several slots. Their members
// then go one by one, as all who come later, and each is charged once.
func TestSlots_batchesAreTriedOnceAndEachIsChargedOnce(t *testing.T) {
	t.Parallel()
	r := groupRig(t, startSlots(t))
	policies := []string{"token-bucket-0", "fixed-window-0", "sliding-window-counter-0"}
	for _, p := range policies {
		r.expect(p, subject(), 1, allowed(policyLimit-1)) // brings its program
	}
	for turn, want := range []struct{ bySHA, bySource int64 }{{3, 8}, {9, 0}} {
		questions := []question{questionOf("sliding-window-counter-0")}
		for range 4 {
			questions = append(questions, questionOf("token-bucket-0"), questionOf("fixed-window-0"))
		}
		g := r.gather(questions...)
		bySHA, bySource := r.link.Forwarded("EVALSHA"), r.link.Forwarded("EVAL")
		g.send()
		for i, q := range questions {
			if g.answers[i].said != allowed(policyLimit-1) {
				t.Errorf("turn %d, %s: got %s", turn, q.policy, g.answers[i].said)
			}
			r.expectCharged(q.policy, q.subject, 1)
		}
		bySHA, bySource = r.link.Forwarded("EVALSHA")-bySHA, r.link.Forwarded("EVAL")-bySource
		if bySHA != want.bySHA || bySource != want.bySource {
			t.Errorf("turn %d: %d by SHA and %d by source, want %d and %d", turn, bySHA, bySource, want.bySHA, want.bySource)
		}
	}
}
