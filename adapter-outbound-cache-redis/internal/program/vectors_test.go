package program_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/vectors"
)

// The slowest that a server may be between PEXPIRE and PTTL.
const ttlSlackMillis = 50

// TestVectors_everyNumberOnEveryServer runs each timeline twice: with keys kept
// for ever, and with keys dropped once their lifetime has passed in the timeline.
func TestVectors_everyNumberOnEveryServer(t *testing.T) {
	set, err := vectors.All()
	if err != nil {
		t.Fatal(err)
	}
	servers(t, func(t *testing.T, client *redis.Client) {
		for _, vector := range set.Edge {
			for name, drops := range map[string]bool{"kept": false, "dropped": true} {
				t.Run(vector.Name+"/"+name, func(t *testing.T) {
					runVector(testbed{t, client, vector.Name + "/" + name}, vector, drops)
				})
			}
		}
	})
}

func runVector(b testbed, vector vectors.Edge, drops bool) {
	expiresAt := int64(0)
	for i, want := range vector.Steps {
		if drops && expiresAt > 0 && want.ServerNowMillis >= expiresAt {
			b.drop()
			expiresAt = 0
		}
		got := b.evaluate(vector.Policy, want.ServerNowMillis, want.Cost)
		if got.reply != want.Expect {
			b.t.Fatalf("step %d:\n got %+v\nwant %+v", i, got.reply, want.Expect)
		}
		if got.reply.Status != model.Allowed {
			if got.ttlMillis >= 0 {
				b.t.Fatalf("step %d: %s set an expiry of %d ms", i, got.reply.Status, got.ttlMillis)
			}
			continue
		}
		if got.ttlMillis > want.TTLMillis || got.ttlMillis <= want.TTLMillis-ttlSlackMillis {
			b.t.Fatalf("step %d: expiry %d ms, want %d", i, got.ttlMillis, want.TTLMillis)
		}
		expiresAt = want.ServerNowMillis + want.TTLMillis
	}
}
