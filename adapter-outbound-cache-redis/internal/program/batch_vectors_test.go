package program_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/vectors"
)

// TestBatch_givesEveryNumberOfTheVectors runs each timeline as batches of one, and
// with the steps of one instant in one batch, with keys kept and keys dropped as
// TestVectors does.
func TestBatch_givesEveryNumberOfTheVectors(t *testing.T) {
	set, err := vectors.All()
	if err != nil {
		t.Fatal(err)
	}
	client, together := connect(t, redistest.Start(t).Addr()), 0
	for _, vector := range set.Edge {
		for name, most := range map[string]int{"one by one": 1, "together": len(vector.Steps)} {
			for fate, drops := range map[string]bool{"kept": false, "dropped": true} {
				t.Run(vector.Name+"/"+name+"/"+fate, func(t *testing.T) {
					b := batchVector{testbed{t, client, vector.Name + name + fate}, vector, drops, time.Now(), noLife, model.State{}}
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
}

// batchVector is a timeline on one key.
type batchVector struct {
	testbed
	vector vectors.Edge
	drops  bool
	began  time.Time
	life   life
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
	b.t.Helper()
	p, now := b.vector.Policy, steps[0].ServerNowMillis
	if b.drops && b.life.ends > 0 && now >= b.life.ends {
		b.drop()
		b.life, b.state = noLife, model.State{}
	}
	var keys, costs, want []string
	for _, step := range steps {
		keys, costs, want = append(keys, b.key), append(costs, decimal(step.Cost)), append(want, line(step.Expect))
		reply, after, ttl := model.New(p).Step(b.state, now, step.Cost)
		if ttl != step.TTLMillis {
			b.t.Fatalf("the model sets a lifetime of %d, the vector %d", ttl, step.TTLMillis)
		}
		b.life = b.life.after(reply, step.TTLMillis)
		b.state = after
	}
	got := evalBatch(b.t, b.client, timedBatch, keys, append(batchArgs(p, costs...), decimal(now))...)
	if !slices.Equal(got, want) {
		b.t.Fatalf("at %d, costs %v:\n got %q\nwant %q", now, costs, got, want)
	}
	b.demandState()
}

// demandState compares what is stored with the model's state, field by field.
func (b *batchVector) demandState() {
	b.t.Helper()
	ctx := context.Background()
	if got, want := fmt.Sprint(b.client.HGetAll(ctx, b.key).Val()), fmt.Sprint(stateFields(b.vector.Policy, b.state)); got != want {
		b.t.Fatalf("stored %s, want %s", got, want)
	}
	pttl, err := b.client.Do(ctx, "PTTL", b.key).Int64()
	if err != nil {
		b.t.Fatal(err)
	}
	demandLife(b.t, b.key, pttl, b.life, time.Since(b.began).Milliseconds()+1)
}
