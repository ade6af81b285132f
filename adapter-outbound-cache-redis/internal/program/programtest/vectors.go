package programtest

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/vectors"
)

// Vectors runs each timeline of the edge twice: with keys kept for ever, and with keys
// dropped once their lifetime has passed in the timeline. It answers how many steps
// were taken.
func Vectors(t *testing.T, client *redis.Client, prefix string) (steps int) {
	for _, vector := range all(t).Edge {
		for name, drops := range map[string]bool{"kept": false, "dropped": true} {
			steps += len(vector.Steps)
			t.Run(vector.Name+"/"+name, func(t *testing.T) {
				runVector(Bed{t, client, prefix + vector.Name + "/" + name}, vector, drops)
			})
		}
	}
	return steps
}

// all is every vector there is, which must be some of each kind.
func all(t *testing.T) vectors.Set {
	t.Helper()
	set, err := vectors.All()
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Edge) == 0 || len(set.Logs) == 0 {
		t.Fatalf("there are %d vectors of the edge and %d of logs", len(set.Edge), len(set.Logs))
	}
	return set
}

func runVector(b Bed, vector vectors.Edge, drops bool) {
	expiresAt := int64(0)
	for i, want := range vector.Steps {
		if drops && expiresAt > 0 && want.ServerNowMillis >= expiresAt {
			b.Drop()
			expiresAt = 0
		}
		got := b.Evaluate(vector.Policy, want.ServerNowMillis, want.Cost)
		if got.Reply != want.Expect {
			b.T.Fatalf("step %d:\n got %+v\nwant %+v", i, got.Reply, want.Expect)
		}
		if got.TTLMillis != want.TTLMillis {
			b.T.Fatalf("step %d: %s gave a lifetime of %d ms, want %d", i, got.Reply.Status, got.TTLMillis, want.TTLMillis)
		}
		if got.Reply.Status == model.Allowed {
			expiresAt = want.ServerNowMillis + want.TTLMillis
		}
	}
}
