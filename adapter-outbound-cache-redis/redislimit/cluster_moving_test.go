//go:build cluster

package redislimit_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// A program has one key: it runs where that key is or is to be, always.
func evaluateUnderMigration(t *testing.T, cluster *redistest.Cluster) {
	r := newClusterRig(t, cluster)
	for _, p := range r.config.Policies {
		id, who := p.ID(), subject()
		state := r.stateKey(id, who)
		from := cluster.OwnerOf(t, state)
		to := another(t, cluster, from)
		charged := func(what string, at *redistest.Server, digest string, want int64) {
			t.Helper()
			r.server = at
			if got := r.charged(id, digest); got != want {
				t.Errorf("%s, %s: %s has charged %d, want %d", id, what, at.Addr(), got, want)
			}
		}
		r.expect(id, who, 1, allowed(policyLimit-1))
		cluster.Migrate(t, state, from, to)
		r.expect(id, who, 1, allowed(policyLimit-2))
		charged("its key here", from, who, 2)
		cluster.MoveKeys(t, from, to, state)
		r.expect(id, who, 1, allowed(policyLimit-3)) // by ASK
		cluster.EndMigration(t, state, to)
		r.expect(id, who, 1, allowed(policyLimit-4)) // by MOVED
		charged("its key moved", to, who, 4)

		// A key that is not there yet is made where the slot goes.
		late := r.subjectOf(cluster, from, id)
		state = r.stateKey(id, late)
		cluster.Migrate(t, state, from, to)
		r.expect(id, late, 1, allowed(policyLimit-1))
		r.expect(id, late, policyLimit, "denied "+fmt.Sprint(policyLimit-1))
		cluster.EndMigration(t, state, to)
		r.expect(id, late, 1, allowed(policyLimit-2))
		charged("its key missing", to, late, 2)
	}
	r.expectBreaker("closed")
	if got := r.provider.Connection().Stats().Resharding; got.Calls == 0 || got.Met != 0 {
		t.Errorf("counted %+v, want every call and none that met TRYAGAIN", got)
	}
}

// evaluations are calls of one subject under way, and what became of them.
type evaluations struct {
	r       *rig
	id, who string
	stop    chan struct{}
	callers sync.WaitGroup

	allowed, unknown, failed atomic.Int64
	failure                  atomic.Value // the last one, in words
}

func startEvaluations(r *rig, id, who string, callers int) *evaluations {
	e := &evaluations{r: r, id: id, who: who, stop: make(chan struct{})}
	for range callers {
		e.callers.Go(e.call)
	}
	return e
}

// evaluateEvery keeps all that are made in a minute within the large limit.
const evaluateEvery = 10 * time.Millisecond

func (e *evaluations) call() {
	tick := time.NewTicker(evaluateEvery)
	defer tick.Stop()
	for {
		select {
		case <-e.stop:
			return
		case <-tick.C:
		}
		switch o := e.r.evaluate(e.id, e.who, 1); {
		case o.Allows():
			e.allowed.Add(1)
		case say(o) == "indeterminate":
			e.unknown.Add(1)
		default:
			e.failed.Add(1)
			e.failure.Store(say(o))
		}
	}
}

// goOn waits until so many more were allowed.
func (e *evaluations) goOn(calls int64) {
	e.r.t.Helper()
	until := e.allowed.Load() + calls
	e.r.eventually("go on", func() bool { return e.allowed.Load() >= until })
}

func (e *evaluations) end() {
	close(e.stop)
	e.callers.Wait()
}

// demandAllAllowed fails if one was not.
func (e *evaluations) demandAllAllowed() {
	e.r.t.Helper()
	if unknown, failed := e.unknown.Load(), e.failed.Load(); unknown+failed > 0 {
		e.r.t.Errorf("%s: %d evaluations are unknown and %d failed, the last with %v", e.id, unknown, failed, e.failure.Load())
	}
}

// demandCharges fails if not each that was allowed was charged once, and no other.
func (e *evaluations) demandCharges(cluster *redistest.Cluster) {
	t := e.r.t
	t.Helper()
	if got, want := e.r.chargedAt(cluster, e.id, e.who), e.allowed.Load(); got != want {
		t.Errorf("%s: charged %d for %d evaluations", e.id, got, want)
	}
}

func withLargePolicies(t *testing.T) func(*redislimit.Config) {
	return func(c *redislimit.Config) { c.Policies = largePolicies(t) }
}

func evaluateWhileMoving(t *testing.T, cluster *redistest.Cluster) {
	const rounds = 5
	r := newClusterRig(t, cluster, withLargePolicies(t))
	for _, p := range r.config.Policies {
		who := subject()
		state := r.stateKey(p.ID(), who)
		e := startEvaluations(r, p.ID(), who, 4)
		for range rounds {
			e.goOn(20)
			from := cluster.OwnerOf(t, state)
			cluster.MoveSlot(t, state, from, another(t, cluster, from), 10)
		}
		e.goOn(20)
		e.end()
		e.demandAllAllowed()
		e.demandCharges(cluster)
	}
}

// evaluateWhileFailingOver lets each replica take its master's place while both run.
// No evaluation fails, unless the cluster itself said that it was down.
func evaluateWhileFailingOver(t *testing.T, cluster *redistest.Cluster) {
	r := newClusterRig(t, cluster, withLargePolicies(t))
	down := cluster.SaidDown(t)
	var all []*evaluations
	for i, p := range r.config.Policies {
		who := r.subjectOf(cluster, cluster.Masters(t)[i], p.ID())
		all = append(all, startEvaluations(r, p.ID(), who, 2))
	}
	for _, replica := range cluster.Replicas(t) {
		for _, e := range all {
			e.goOn(20)
		}
		cluster.FailOver(t, replica)
	}
	for _, e := range all {
		e.goOn(20)
		e.end()
	}
	cluster.AwaitOK(t)
	wasDown := cluster.SaidDown(t) > down
	for _, e := range all {
		if !wasDown {
			e.demandAllAllowed()
		}
		e.demandCharges(cluster)
	}
}
