package slidinglog

import "sort"

// Log is the counted calls of one key, oldest first, as microseconds of its
// clock. The zero Log is empty. It is not safe for concurrent use.
type Log struct {
	ring  []int64 // its length is 0 or a power of two
	first int     // index of the oldest call
	held  int
}

// minRing is the first room of a log: most keys see a few calls.
const minRing = 4

// Len is how many calls the log holds, those included that no longer count and
// were not dropped yet.
func (l *Log) Len() int { return l.held }

// Cap is how many calls the log has memory for, 8 bytes each: less than twice what
// it held at its fullest, or a handful, and less again once it is down to an eighth.
func (l *Log) Cap() int { return len(l.ring) }

// Newest is the time of the last counted call; false for an empty log. One window
// later nothing in the log counts.
func (l *Log) Newest() (micros int64, ok bool) {
	if l.held == 0 {
		return 0, false
	}
	return l.at(l.held - 1), true
}

// at is the i-th oldest call.
func (l *Log) at(i int) int64 { return l.ring[(l.first+i)&(len(l.ring)-1)] }

// dead is how many of the oldest calls no longer count at now: a call of t counts
// before t + window.
func (l *Log) dead(now, window int64) int {
	return sort.Search(l.held, func(i int) bool { return l.at(i) > now-window })
}

// replace drops the oldest dead calls and adds one at now.
func (l *Log) replace(dead int, now int64) {
	l.first += dead
	l.held -= dead
	switch room := len(l.ring); {
	case l.held == room:
		l.resize(max(2*room, minRing))
	case room > minRing && l.held < room/8:
		l.resize(room / 4)
	}
	l.ring[(l.first+l.held)&(len(l.ring)-1)] = now
	l.held++
}

// resize moves the log to a ring of another size, of which it fills a part.
func (l *Log) resize(room int) {
	ring := make([]int64, room)
	for i := range l.held {
		ring[i] = l.at(i)
	}
	l.ring, l.first = ring, 0
}
