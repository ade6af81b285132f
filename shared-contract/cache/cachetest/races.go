package cachetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/cache"
)

func putsIfAbsent(s scene) {
	k := s.key()
	token := s.wantStored(s.putIfAbsent(k, s.entry("one", long)))
	s.wantConflict(s.putIfAbsent(k, s.entry("two", time.Minute)))
	hit := s.wantHit(k, "one")
	if hit.Token != token {
		s.Errorf("got token %x, want %x of the write that stored", hit.Token.Bytes(), token.Bytes())
	}
	if hit.TTL <= time.Minute {
		s.Errorf("got %v left, want the first write's TTL", hit.TTL)
	}
}

func putsIfAbsentAgain(s scene) {
	k := s.key()
	s.wantStored(s.putIfAbsent(k, s.entry("one", 40*time.Millisecond)))
	s.pass(s.T, 40*time.Millisecond)
	s.wantStored(s.putIfAbsent(k, s.entry("two", long)))
	s.wantStored(s.delete(k))
	s.wantStored(s.putIfAbsent(k, s.entry("three", long)))
	s.wantHit(k, "three")
}

func replaces(s scene) {
	k := s.key()
	observed := s.wantStored(s.put(k, s.entry("one", long)))
	token := s.wantStored(s.replace(k, s.wantHit(k, "one").Token, s.entry("two", long)))
	if hit := s.wantHit(k, "two"); hit.Token != token || token == observed {
		s.Errorf("got token %x, want %x, not %x", hit.Token.Bytes(), token.Bytes(), observed.Bytes())
	}
}

func replacesWhatWasObserved(s scene) {
	k := s.key()
	observed := s.wantStored(s.put(k, s.entry("one", long)))
	s.wantStored(s.put(k, s.entry("two", time.Minute)))
	s.wantConflict(s.replace(k, observed, s.entry("three", long)))
	s.wantConflict(s.putIfAbsent(k, s.entry("three", long)))
	if hit := s.wantHit(k, "two"); hit.TTL > time.Minute {
		s.Errorf("got %v left after conflicts, want what was stored, %v", hit.TTL, time.Minute)
	}
}

func noticesRoundTrips(s scene) {
	k := s.key()
	observed := s.wantStored(s.put(k, s.entry("one", long)))
	s.wantStored(s.put(k, s.entry("two", long)))
	s.wantStored(s.put(k, s.entry("one", long)))
	s.wantConflict(s.replace(k, observed, s.entry("three", long)))
	s.wantStored(s.delete(k))
	s.wantStored(s.putIfAbsent(k, s.entry("one", long)))
	s.wantConflict(s.replace(k, observed, s.entry("three", long)))
	s.wantHit(k, "one")
}

func replacesNothing(s scene) {
	k := s.key()
	s.wantConflict(s.replace(k, cache.NewToken(), s.entry("one", long)))
	s.wantConflict(s.replace(k, cache.Token{}, s.entry("one", long)))
	s.wantMiss(k)
	observed := s.wantStored(s.put(k, s.entry("one", 40*time.Millisecond)))
	s.pass(s.T, 40*time.Millisecond)
	s.wantConflict(s.replace(k, observed, s.entry("two", long)))
	s.wantMiss(k)
}

func replacesByItsOwnToken(s scene) {
	k, other := s.key(), s.key()
	s.wantStored(s.put(k, s.entry("one", long)))
	foreign := s.wantStored(s.put(other, s.entry("one", long)))
	s.wantConflict(s.replace(k, foreign, s.entry("two", long)))
	s.wantConflict(s.replace(k, cache.Token{}, s.entry("two", long)))
	s.wantHit(k, "one")
}

func replacesOwnWrite(s scene) {
	k := s.key()
	token := s.wantStored(s.putIfAbsent(k, s.entry("0", long)))
	for i := range 20 {
		token = s.wantStored(s.replace(k, token, s.entry(fmt.Sprint(i), long)))
	}
	s.wantHit(k, "19")
}

// rivals are how many write at once.
const rivals = 100

// storedAtOnce has all rivals write at once, and is the value of the one who stored.
func (s scene) storedAtOnce(write func(e cache.Entry) cache.Writing) string {
	s.Helper()
	var mu sync.Mutex
	var winners []string
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range rivals {
		value := fmt.Sprint("rival ", i)
		entry := s.entry(value, long)
		all.Go(func() {
			<-begin
			switch got := writingName(write(entry)); got {
			case "stored":
				mu.Lock()
				winners = append(winners, value)
				mu.Unlock()
			case "conflict":
			default:
				s.Errorf("%s: got %s, want stored or conflict", value, got)
			}
		})
	}
	close(begin)
	all.Wait()
	if len(winners) != 1 {
		s.Fatalf("%d of %d writers stored, want 1", len(winners), rivals)
	}
	return winners[0]
}

func putsIfAbsentAtOnce(s scene) {
	k := s.key()
	winner := s.storedAtOnce(func(e cache.Entry) cache.Writing { return s.putIfAbsent(k, e) })
	s.wantHit(k, winner)
}

func replacesAtOnce(s scene) {
	k := s.key()
	s.wantStored(s.put(k, s.entry("first", long)))
	value := "first"
	for range 5 {
		observed := s.wantHit(k, value).Token
		value = s.storedAtOnce(func(e cache.Entry) cache.Writing { return s.replace(k, observed, e) })
		s.wantHit(k, value)
	}
}

// A delete comes between the replaces of a writer who goes on from each to the next:
// none brings the entry back, and what is put if absent then stays.
func deletesAmidReplaces(s scene) {
	const rounds = 20
	k := s.key()
	for range rounds {
		first := s.wantStored(s.put(k, s.entry("old", long)))
		begun := make(chan struct{})
		var deleted atomic.Bool
		var all sync.WaitGroup
		all.Go(func() { s.replaceOn(k, first, begun, &deleted) })
		<-begun
		s.wantStored(s.delete(k))
		deleted.Store(true)
		token := s.wantStored(s.putIfAbsent(k, s.entry("new", long)))
		all.Wait()
		if hit := s.wantHit(k, "new"); hit.Token != token {
			s.Errorf("got token %x, want %x of the write after the delete", hit.Token.Bytes(), token.Bytes())
		}
		s.wantStored(s.delete(k))
	}
}

// replaceOn replaces, each time by the token of its last write, until that is a
// conflict. Begun is closed once it has stored.
func (s scene) replaceOn(k cache.Key, token cache.Token, begun chan<- struct{}, deleted *atomic.Bool) {
	s.Helper()
	begin := sync.OnceFunc(func() { close(begun) })
	defer begin()
	for {
		late := deleted.Load()
		w := s.replace(k, token, s.entry("old", long))
		if late || writingName(w) != "stored" {
			s.wantConflict(w)
			return
		}
		token = tokenOf(w)
		begin()
	}
}
