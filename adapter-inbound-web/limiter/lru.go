package limiter

import "github.com/edgelimit/edgelimit/shared-contract/slidinglog"

// entry is a key's log, in a ring of all entries in the order of their last use.
type entry struct {
	key   string
	log   slidinglog.Log
	newer *entry
	older *entry
}

// lru is entries by key, and by their last use. The log is a part of its entry, so
// that a key costs one allocation beside its name and what it counts.
type lru struct {
	byKey map[string]*entry
	ends  entry // older is the newest entry, newer the oldest; itself if there is none
}

func newLRU() *lru {
	l := &lru{byKey: map[string]*entry{}}
	l.ends.newer, l.ends.older = &l.ends, &l.ends
	return l
}

func (l *lru) len() int { return len(l.byKey) }

// use is the entry of key, which is the newest from now on, or nil.
func (l *lru) use(key string) *entry {
	e := l.byKey[key]
	if e != nil && l.ends.older != e {
		e.unlink()
		l.link(e)
	}
	return e
}

// add makes e, whose key must be new, the newest entry.
func (l *lru) add(e *entry) {
	l.byKey[e.key] = e
	l.link(e)
}

// oldest is nil if there is no entry.
func (l *lru) oldest() *entry {
	if l.ends.newer == &l.ends {
		return nil
	}
	return l.ends.newer
}

func (l *lru) remove(e *entry) {
	delete(l.byKey, e.key)
	e.unlink()
}

func (l *lru) link(e *entry) {
	e.older, e.newer = l.ends.older, &l.ends
	e.older.newer, e.newer.older = e, e
}

func (e *entry) unlink() { e.older.newer, e.newer.older = e.newer, e.older }
