package limiter

import (
	"sync"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/limitkey"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// shard is the logs of some tags. Its lock is held for the arithmetic of one call.
type shard struct {
	mu     sync.Mutex
	stores [kinds]*store
	_      [32]byte // no two locks in one cache line
}

// kind is a kind of key. Each makes room within itself alone: no flood of
// addresses, nor of one tenant's users, makes a full tenant begin afresh.
type kind int

const (
	tenants kind = iota
	members      // users, key ids, and keys of any other form
	addresses
	kinds
)

func kindOf(key string) kind {
	switch {
	case limitkey.IsAddress(key):
		return addresses
	case limitkey.IsTenant(key):
		return tenants
	default:
		return members
	}
}

// allow reads the clock under the lock, so that the calls of a key are counted in
// the clock's order.
func (s *shard) allow(window time.Duration, clock func() int64, key string, limit int) (slidinglog.Verdict, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var fresh slidinglog.Log
	logs := s.stores[kindOf(key)]
	log := logs.find(key, &fresh)
	before := log.Cap()
	v, err := slidinglog.Allow(window, clock(), log, limit)
	if v.Allowed {
		logs.keep(key, log, &fresh, before)
	}
	return v, err
}

// allowDual is allow for two keys, which are both of this shard.
func (s *shard) allowDual(window time.Duration, clock func() int64, outerKey string, outerLimit int, innerKey string, innerLimit int) (slidinglog.Verdict, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var freshOuter, freshInner slidinglog.Log
	outerLogs, innerLogs := s.stores[kindOf(outerKey)], s.stores[kindOf(innerKey)]
	outer, inner := outerLogs.find(outerKey, &freshOuter), innerLogs.find(innerKey, &freshInner)
	outerBefore, innerBefore := outer.Cap(), inner.Cap()
	v, err := slidinglog.AllowDual(window, clock(), outer, outerLimit, inner, innerLimit)
	if v.Allowed {
		outerLogs.keep(outerKey, outer, &freshOuter, outerBefore)
		innerLogs.keep(innerKey, inner, &freshInner, innerBefore)
	}
	return v, err
}

// relieve lets logs of one kind go, the longest unused first, while there are too
// many everywhere and more than this shard's part of them here.
func (s *shard) relieve(k kind) (relieved bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.stores[k].excessive() {
		s.stores[k].dropOldest()
		relieved = true
	}
	return relieved
}

// sweep drops the logs of which nothing has counted for sweepGrace.
func (s *shard) sweep(window time.Duration, clock func() int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := clock() - (window + sweepGrace).Microseconds()
	for _, logs := range s.stores {
		logs.sweep(before)
	}
}
