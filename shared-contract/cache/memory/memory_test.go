package memory_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/cache"
	"github.com/edgelimit/edgelimit/shared-contract/cache/cachetest"
	"github.com/edgelimit/edgelimit/shared-contract/cache/memory"
)

// rig is a cache and its clock.
type rig struct {
	*testing.T
	cache *memory.Cache
	now   time.Duration
}

func newRig(t *testing.T, maxEntries, maxBytes int) *rig {
	r := &rig{T: t}
	made, err := memory.New(memory.Config{MaxEntries: maxEntries, MaxBytes: maxBytes, Clock: func() time.Duration { return r.now }})
	if err != nil {
		t.Fatal(err)
	}
	r.cache = made
	return r
}

func (r *rig) ctx() context.Context {
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	r.Cleanup(cancel)
	return ctx
}

func (r *rig) key(name string) cache.Key {
	k, err := cache.NewKey("r", name)
	if err != nil {
		r.Fatal(err)
	}
	return k
}

func (r *rig) put(name, value string) {
	r.Helper()
	e, err := cache.NewEntry([]byte(value), time.Second)
	if err != nil {
		r.Fatal(err)
	}
	stored := cache.MatchWriting(r.cache.Put(r.ctx(), r.key(name), e), func(cache.Stored) bool { return true },
		func(cache.Conflict) bool { return false }, func(cache.Unavailable) bool { return false })
	if !stored {
		r.Errorf("%s was not stored", name)
	}
}

// has lists which of names are there.
func (r *rig) has(names ...string) (there []string) {
	for _, name := range names {
		if cache.MatchReading(r.cache.Get(r.ctx(), r.key(name)), func(cache.Hit) bool { return true },
			func(cache.Miss) bool { return false }, func(cache.Unavailable) bool { return false }) {
			there = append(there, name)
		}
	}
	return there
}

func TestContract(t *testing.T) {
	r := newRig(t, 10_000, 1<<20)
	cachetest.Run(t, cachetest.Harness{
		New:  func(*testing.T) cache.CachePort { return r.cache },
		Pass: func(_ *testing.T, d time.Duration) { r.now += d },
	})
}

func TestNew_refusesWhatBoundsNothing(t *testing.T) {
	clock := func() time.Duration { return 0 }
	for _, c := range []memory.Config{
		{}, {MaxEntries: 1, MaxBytes: memory.MinBytes}, {MaxEntries: 0, MaxBytes: memory.MinBytes, Clock: clock},
		{MaxEntries: 1, MaxBytes: memory.MinBytes - 1, Clock: clock},
	} {
		if _, err := memory.New(c); err == nil {
			t.Errorf("%+v: got no error", c)
		}
	}
}

func TestBounds_theLongestUnusedGoes(t *testing.T) {
	r := newRig(t, 3, 1<<20)
	r.put("a", "1")
	r.put("b", "1")
	r.put("c", "1")
	r.has("a")
	r.put("d", "1")
	if got, want := fmt.Sprint(r.has("a", "b", "c", "d")), "[a c d]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	r.put("c", "2") // what is replaced needs no room
	if got, want := fmt.Sprint(r.has("a", "c", "d")), "[a c d]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestBounds_bytesCountKeysAndValues(t *testing.T) {
	r := newRig(t, 1000, memory.MinBytes)
	third := strings.Repeat("v", memory.MinBytes/3-2) // its key has two bytes
	r.put("a", third)
	r.put("b", third)
	r.put("c", third)
	if got, want := fmt.Sprint(r.has("a", "b", "c")), "[a b c]"; got != want {
		t.Errorf("at the bound: got %s, want %s", got, want)
	}
	r.put("d", "v")
	if got, want := fmt.Sprint(r.has("a", "b", "c", "d")), "[b c d]"; got != want {
		t.Errorf("above it: got %s, want %s", got, want)
	}
	r.put("e", strings.Repeat("v", cache.MaxValueLen))
	if got, want := fmt.Sprint(r.has("b", "c", "d", "e")), "[d e]"; got != want {
		t.Errorf("the largest: got %s, want %s", got, want)
	}
}

func TestBounds_whatHasEndedMakesRoom(t *testing.T) {
	r := newRig(t, 1000, 1<<20)
	for i := range 100 {
		r.put(fmt.Sprint(i), "v")
	}
	r.now += time.Second
	for i := range 100 {
		r.has(fmt.Sprint(i))
	}
	if got := r.cache.Len(); got != 0 {
		t.Errorf("got %d entries, want 0", got)
	}
}
