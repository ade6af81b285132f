package limitsource_test

import (
	"context"
	"sync"
	"testing"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/limitsource"
	"github.com/edgelimit/edgelimit/shared-contract/cache"
)

// together keeps a replica's first look until all have looked.
type together struct {
	cache.CachePort
	first *sync.Once
	all   *sync.WaitGroup
}

func (c together) Get(ctx context.Context, k cache.Key) cache.Reading {
	found := c.CachePort.Get(ctx, k)
	c.first.Do(func() {
		c.all.Done()
		c.all.Wait()
	})
	return found
}

func TestOf_ofReplicasThatFindTheSameAtOnceOneAsks(t *testing.T) {
	const replicas = 10
	for sentence, find := range map[string]func(*rig){
		"nothing": func(*rig) {},
		"a stale document": func(r *rig) {
			r.wantTenant(r.replica(), 600)
			r.pass(ttl)
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRig(t)
			find(r)
			asked := r.questions()
			looked := new(sync.WaitGroup)
			looked.Add(replicas)
			var all sync.WaitGroup
			for range replicas {
				c := r.config()
				c.Cache = together{r.cache, new(sync.Once), looked}
				s := r.open(c)
				all.Go(func() { s.Of(t.Context(), "acme") })
			}
			all.Wait()
			r.await(int64(asked)+replicas, func() int64 { return r.count(limitsource.Fetched) + r.count(limitsource.Waived) })
			if got := r.questions() - asked; got != 1 {
				t.Errorf("the source was asked %d times, want once", got)
			}
		})
	}
}
