package denial

import (
	"sync"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

const (
	maxShards       = 64
	minShardEntries = 256 // fewer would fill unevenly
)

// shard is a part of the denials, each in a place of its question. A new question
// that finds no room takes the place that was taken the longest ago.
type shard struct {
	mu    sync.Mutex
	slots map[Key]int32 // where in the ring each denial is
	ring  []entry       // grows up to room
	room  int
	next  int      // the slot to take when the ring is full
	_     [64]byte // no two locks in one cache line
}

// entry is one denial, which may have ended.
type entry struct {
	key      Key
	observed ratelimit.Decision
	received time.Duration // from here RetryAfter is counted down
	end      time.Duration // from here on it says nothing
}

// shardsFor are shards that have room for maxEntries in all.
func shardsFor(maxEntries int) []shard {
	shards := make([]shard, min(max(maxEntries/minShardEntries, 1), maxShards))
	for i := range shards {
		shards[i].slots = map[Key]int32{}
		shards[i].room = maxEntries / len(shards)
		if i < maxEntries%len(shards) {
			shards[i].room++
		}
	}
	return shards
}

// lookup reads the clock under the lock: no wait for it prolongs a denial.
func (s *shard) lookup(k Key, clock func() time.Duration) (ratelimit.Decision, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot, ok := s.slots[k]
	if !ok {
		return ratelimit.Decision{}, false
	}
	e := &s.ring[slot]
	now := clock()
	if now >= e.end { // its place waits for the next denial of the same
		return ratelimit.Decision{}, false
	}
	return e.at(now), true
}

// at is the denial at a time within its life.
func (e *entry) at(now time.Duration) ratelimit.Decision {
	d := e.observed
	d.RetryAfter = upToMillis(d.RetryAfter - (now - e.received))
	return d
}

func upToMillis(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

func (s *shard) store(e entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot, known := s.slots[e.key]
	if !known {
		slot = s.takeSlot()
		s.slots[e.key] = slot
	}
	s.ring[slot] = e
}

// takeSlot takes a slot for a question that has none: a new one while there is room,
// then the one that was taken the longest ago, and forgets the denial in it.
func (s *shard) takeSlot() int32 {
	if len(s.ring) < s.room {
		s.ring = append(s.ring, entry{})
		return int32(len(s.ring) - 1)
	}
	slot := s.next
	s.next = (s.next + 1) % s.room
	delete(s.slots, s.ring[slot].key)
	return int32(slot)
}
