package programtest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/vectors"
)

// BatchVectors runs each timeline of the edge as batches of one, and with the steps of
// one instant in one batch, with keys kept and keys dropped as [Vectors] does. It
// answers how many steps were taken, and how many of them in a batch with one before.
func BatchVectors(t *testing.T, client *redis.Client, prefix string) (taken, together int) {
	for _, vector := range all(t).Edge {
		for name, most := range map[string]int{"one by one": 1, "together": len(vector.Steps)} {
			for fate, drops := range map[string]bool{"kept": false, "dropped": true} {
				taken += len(vector.Steps)
				t.Run(vector.Name+"/"+name+"/"+fate, func(t *testing.T) {
					key := prefix + vector.Name + name + fate
					b := batchVector{Bed: Bed{t, client, key}, vector: vector, drops: drops}
					for steps := vector.Steps; len(steps) > 0; {
						n := b.sameInstant(steps, most)
						together += n - 1
						b.run(steps[:n])
						steps = steps[n:]
					}
				})
			}
		}
	}
	if together == 0 {
		t.Error("no timeline has two steps at one instant")
	}
	return taken, together
}

// batchVector is a timeline on one key.
type batchVector struct {
	Bed
	vector vectors.Edge
	drops  bool
	ends   int64 // when the state dies, by the timeline; 0 without one
	state  model.State
}

// sameInstant is how many of the first steps are at one instant, most at most.
func (b *batchVector) sameInstant(steps []vectors.EdgeStep, most int) int {
	n := slices.IndexFunc(steps, func(s vectors.EdgeStep) bool { return s.ServerNowMillis != steps[0].ServerNowMillis })
	if n < 0 {
		n = len(steps)
	}
	return min(n, most)
}

// run makes the decisions of one instant in one batch.
func (b *batchVector) run(steps []vectors.EdgeStep) {
	b.T.Helper()
	p, now := b.vector.Policy, steps[0].ServerNowMillis
	if b.drops && b.ends > 0 && now >= b.ends {
		b.Drop()
		b.ends, b.state = 0, model.State{}
	}
	var keys, costs, want []string
	var lifetimes []int64
	for _, step := range steps {
		keys, costs, want = append(keys, b.Key), append(costs, Decimal(step.Cost)), append(want, Line(step.Expect))
		reply, after, ttl := model.New(p).Step(b.state, now, step.Cost)
		if ttl != step.TTLMillis {
			b.T.Fatalf("the model sets a lifetime of %d, the vector %d", ttl, step.TTLMillis)
		}
		if reply.Status == model.Allowed {
			b.ends, lifetimes = now+ttl, append(lifetimes, ttl)
		}
		b.state = after
	}
	got := EvalBatch(b.T, b.Client, TimedBatch, keys, append(BatchArgs(p, costs...), Decimal(now))...)
	if !slices.Equal(got, want) {
		b.T.Fatalf("at %d, costs %v:\n got %q\nwant %q", now, costs, got, want)
	}
	b.demandState(lifetimes)
}

// demandState compares what is stored with the model's state, field by field, and the
// lifetimes that it was given.
func (b *batchVector) demandState(lifetimes []int64) {
	b.T.Helper()
	pipe := b.Client.Pipeline()
	stored, given := pipe.HGetAll(context.Background(), b.Key), GivenTo(pipe, b.Key)
	if _, err := pipe.Exec(context.Background()); err != nil {
		b.T.Fatal(err)
	}
	if got, want := fmt.Sprint(stored.Val()), fmt.Sprint(StateFields(b.vector.Policy, b.state)); got != want {
		b.T.Fatalf("stored %s, want %s", got, want)
	}
	if got := given.Millis(b.T); !slices.Equal(got, lifetimes) {
		b.T.Fatalf("given the lifetimes %d, want %d", got, lifetimes)
	}
	if given.Ends(b.T) != b.state.Exists {
		b.T.Fatalf("the key will expire: %t; it has a state: %t", given.Ends(b.T), b.state.Exists)
	}
}
