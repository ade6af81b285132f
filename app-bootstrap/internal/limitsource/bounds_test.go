package limitsource_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/limitsource"
	"github.com/edgelimit/edgelimit/shared-contract/cache"
)

// gated lets nobody look into it before it is opened, and counts who wants to.
type gated struct {
	cache.CachePort
	open  chan struct{}
	looks *atomic.Int64
}

func (c gated) Get(ctx context.Context, k cache.Key) cache.Reading {
	c.looks.Add(1)
	select {
	case <-c.open:
	case <-ctx.Done():
	}
	return c.CachePort.Get(ctx, k)
}

func TestOf_aFloodOfInventedTenantsIsBounded(t *testing.T) {
	r := newRig(t)
	r.wantTenant(r.replica(), 600)
	c := r.config()
	looks := new(atomic.Int64)
	gate := gated{r.cache, make(chan struct{}), looks}
	c.Cache, c.Timeout = gate, time.Minute
	s := r.open(c)
	var all, beyond sync.WaitGroup
	for i := range 64 {
		all.Go(func() { s.Of(t.Context(), fmt.Sprint("invented ", i)) })
	}
	r.await(64, looks.Load)
	for i := range 1000 {
		beyond.Go(func() { s.Of(t.Context(), fmt.Sprint("more ", i)) })
	}
	r.awaitCount(limitsource.Waived, 1000)
	beyond.Wait() // while the others wait
	if got := looks.Load(); got != 64 {
		t.Errorf("%d tenants were looked for at once, want 64", got)
	}
	if got := r.count(limitsource.Waived); got != 1000 {
		t.Errorf("%d were waived, want 1000", got)
	}
	close(gate.open)
	all.Wait()
	r.wantTenant(s, 600) // there is room again
}

// Tenants that another process asks for are waited for, by so many and no more.
func TestOf_waitsForAnotherProcessAreBounded(t *testing.T) {
	r := newRig(t)
	c := r.config()
	c.Timeout = time.Minute
	s := r.open(c)
	var all sync.WaitGroup
	ctx, leave := context.WithCancel(t.Context())
	for i := range 200 {
		name := fmt.Sprint("tenant ", i)
		r.spoil(name, "") // a claim
		all.Go(func() { s.Of(ctx, name) })
	}
	r.awaitCount(limitsource.Waived, 200) // 64 wait for who has the claim, and the others for nobody
	s.Of(t.Context(), "one more")
	if got := r.count(limitsource.Waived); got != 201 {
		t.Errorf("%d were waived, want 201: those that wait still take their places", got)
	}
	leave()
	all.Wait()
	s.Close()
	if got := r.questions(); got != 0 {
		t.Errorf("the source was asked %d times, want never", got)
	}
}

// Without a cache, whom it has forgotten it asks about anew.
func TestOf_knowsAsManyTenantsAsHaveRoom(t *testing.T) {
	const many = 5000
	r := newRig(t)
	c := r.config()
	c.Cache = deadCache{}
	s := r.open(c)
	for range 2 {
		for i := range many {
			s.Of(t.Context(), fmt.Sprint("tenant ", i))
		}
	}
	if got := r.questions(); got != many {
		t.Errorf("the source was asked %d times, want %d: each is known", got, many)
	}
}

func TestOf_whatItKnowsIsBoundedInBytes(t *testing.T) {
	r := newRig(t)
	id := strings.Repeat("x", 60<<10)
	r.says(`{"tenant": 600, "users": {"` + id + `": 1}}`)
	c := r.config()
	c.Cache = deadCache{}
	s := r.open(c)
	ask := func(i int) { s.Of(t.Context(), fmt.Sprint("tenant ", i)) }
	const fit = (16 << 20) / (61 << 10)
	for range 2 {
		for i := range fit {
			ask(i)
		}
	}
	if got := r.questions(); got != fit {
		t.Errorf("the source was asked %d times, want %d: each is known", got, fit)
	}
	for i := range 20 {
		ask(fit + i)
	}
	ask(0)
	if got := r.questions(); got != fit+21 {
		t.Errorf("the source was asked %d times, want %d: the oldest was forgotten", got, fit+21)
	}
	ask(fit + 19)
	if got := r.questions(); got != fit+21 {
		t.Errorf("the source was asked %d times, want %d: the latest are known", got, fit+21)
	}
}

// The source sends for as long as anybody takes it.
func TestFetch_anAnswerWithoutEndIsNotTaken(t *testing.T) {
	const much = 64 << 20 // more than connections hold
	r := newRig(t)
	ended := make(chan int, 1)
	r.does(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		sent, spaces := 0, make([]byte, 64<<10)
		for sent < much {
			n, err := w.Write(spaces)
			if sent += n; err != nil {
				break
			}
		}
		ended <- sent
	})
	s := r.replica()
	r.wantTenant(s, -1)
	if sent := <-ended; sent >= much {
		t.Errorf("%d bytes were taken, want 64 KiB and what is on the way", sent)
	}
}

// What another replica has learnt, one that knows something older learns within a
// second.
func TestOf_aRenewalReachesTheOthersWithinASecond(t *testing.T) {
	r := newRig(t)
	one, two := r.replica(), r.replica()
	r.wantTenant(one, 600)
	r.wantTenant(two, 600) // from the cache
	r.spoil("acme", `{"tenant":700}`)
	r.pass(time.Second)
	r.eventually(one, 700)
	r.eventually(two, 700)
	if got := r.questions(); got != 1 {
		t.Errorf("the source was asked %d times, want once", got)
	}
}
