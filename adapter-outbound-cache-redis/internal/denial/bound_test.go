package denial_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/denial"
)

// subjects are n keys.
func subjects(n int) []denial.Key {
	keys := make([]denial.Key, n)
	for i := range keys {
		keys[i] = ann
		keys[i].SubjectDigest = fmt.Sprintf("subject-digest-%07d", i)
	}
	return keys
}

func hits(c *denial.Cache, keys []denial.Key) (n int) {
	for _, k := range keys {
		if _, hit := c.Lookup(k); hit {
			n++
		}
	}
	return n
}

// TestStore_makesRoomForTheLatest fills caches of one shard and of many.
func TestStore_makesRoomForTheLatest(t *testing.T) {
	for _, maxEntries := range []int{1, 2, 100, 511, 512, 1000, 20_001} {
		c := cache(t, maxEntries, time.Second, (&hand{}).now)
		keys := subjects(3*maxEntries + 1)
		for _, k := range keys {
			c.Store(k, denied(k, time.Second), 0, 0)
		}
		if got := hits(c, keys); got != maxEntries {
			t.Errorf("%d entries: holds %d", maxEntries, got)
		}
		if latest := keys[len(keys)-maxEntries:]; maxEntries < 512 && hits(c, latest) != maxEntries {
			t.Errorf("%d entries: holds %d of the latest alone", maxEntries, hits(c, latest))
		}
	}
}

// A question that is denied time and again takes one place.
func TestStore_oneQuestionTakesNoPlaceOfAnother(t *testing.T) {
	clock := &hand{}
	c := cache(t, 2, 10*time.Second, clock.now)
	keys := subjects(2)
	c.Store(keys[0], denied(keys[0], 9*time.Second), 0, 0)
	for range 500 {
		c.Store(keys[1], denied(keys[1], 5*ms), clock.at, clock.at)
		clock.at += 10 * ms
		if _, hit := c.Lookup(keys[1]); hit {
			t.Fatal("a denial is repeated after its end")
		}
	}
	if _, hit := c.Lookup(keys[0]); !hit {
		t.Error("a denial that lasts has made room for one that came again and again")
	}
}

// TestStore_countsWhatIsOverAndStoredAgain keeps a full cache turning: what has ended
// comes back.
func TestStore_countsWhatIsOverAndStoredAgain(t *testing.T) {
	clock := &hand{}
	const room = 8
	c := cache(t, room, time.Second, clock.now)
	keys := subjects(room + 3)
	for turn := range 1000 {
		clock.at += 100 * ms
		k := keys[turn*7%len(keys)]
		if _, hit := c.Lookup(k); !hit {
			c.Store(k, denied(k, 650*ms), clock.at, clock.at)
		}
		if _, hit := c.Lookup(k); !hit {
			t.Fatalf("turn %d: the denial stored last is not there", turn)
		}
		if got, want := hits(c, keys), min(turn+1, 7); got != want {
			t.Fatalf("turn %d: holds %d, want the %d that are not over", turn, got, want)
		}
	}
}

// A question that is denied again after its denial has ended takes the place that it
// had, and the next one that of the first.
func TestStore_anEndedDenialComesBackInItsOwnPlace(t *testing.T) {
	clock := &hand{}
	c := cache(t, 3, time.Second, clock.now)
	keys := subjects(4)
	c.Store(keys[0], denied(keys[0], time.Second), 0, 0)
	c.Store(keys[1], denied(keys[1], 100*ms), 0, 0)
	c.Store(keys[2], denied(keys[2], time.Second), 0, 0)
	clock.at = 100 * ms
	if _, hit := c.Lookup(keys[1]); hit {
		t.Error("a denial that is over still answers")
	}
	c.Store(keys[1], denied(keys[1], time.Second), clock.at, clock.at) // where it was before
	c.Store(keys[3], denied(keys[3], time.Second), clock.at, clock.at) // in place of the first
	if got := hits(c, keys[1:]); got != 3 {
		t.Errorf("holds %d of the latest 3", got)
	}
}

func TestCache_isSafeForConcurrentUse(t *testing.T) {
	c := cache(t, 600, ms, nil)
	keys := subjects(900)
	var callers sync.WaitGroup
	for caller := range 8 {
		callers.Go(func() {
			for i := range 5000 {
				k := keys[(i*(2*caller+1))%len(keys)]
				got, hit := c.Lookup(k)
				if hit && (got.Allowed || got.RetryAfter < ms || got.RetryAfter > 3*ms) {
					t.Errorf("got %+v", got)
				}
				if !hit {
					now := c.Now()
					c.Store(k, denied(k, 3*ms), now, now)
				}
			}
		})
	}
	callers.Wait()
	if got := hits(c, keys); got > 600 {
		t.Errorf("holds %d, want at most 600", got)
	}
}
