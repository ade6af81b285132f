package limiter

import (
	"math"
	"strings"
	"sync/atomic"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// budget is what the logs of one kind may take, in all shards together. A shard may
// take what the others leave; when nothing is left, those that hold more than their
// part give it back. So one busy tenant may fill the room, and still costs no
// tenant of another shard its part.
type budget struct {
	keys, calls       atomic.Int64 // calls are what the logs have memory for
	maxKeys, maxCalls int64
	shards            int64
	next              atomic.Uint64 // the shard to relieve next
}

func (b *budget) set(maxKeys, maxCalls, shards int) {
	b.maxKeys, b.maxCalls, b.shards = int64(maxKeys), int64(maxCalls), int64(shards)
}

func (b *budget) overKeys() bool  { return b.keys.Load() > b.maxKeys }
func (b *budget) overCalls() bool { return b.calls.Load() > b.maxCalls }

// store is the logs of one kind in one shard, under the shard's lock.
type store struct {
	logs   *simplelru.LRU[string, *slidinglog.Log]
	calls  int64
	budget *budget
}

// newStore makes a store that only its budget bounds.
func newStore(b *budget) *store {
	logs, err := simplelru.NewLRU[string, *slidinglog.Log](math.MaxInt, nil)
	if err != nil {
		panic(err) // of a size below 1 alone
	}
	return &store{logs: logs, budget: b}
}

// find is the log of key, or else fresh: nothing is kept of a call that is denied.
func (s *store) find(key string, fresh *slidinglog.Log) *slidinglog.Log {
	if log, ok := s.logs.Get(key); ok {
		return log
	}
	return fresh
}

// keep accounts for a log that has counted a call and had memory for before calls
// until then. If it is fresh, it is moved to the store under a copy of key, which
// may be a piece of a larger string.
func (s *store) keep(key string, log, fresh *slidinglog.Log, before int) {
	if grown := log.Cap() - before; grown != 0 {
		s.account(grown)
	}
	if log == fresh {
		kept := *fresh
		s.logs.Add(strings.Clone(key), &kept)
		s.budget.keys.Add(1)
	}
}

func (s *store) dropOldest() {
	if _, log, ok := s.logs.RemoveOldest(); ok {
		s.forget(log)
	}
}

// forget accounts for a log that is gone.
func (s *store) forget(log *slidinglog.Log) {
	s.budget.keys.Add(-1)
	s.account(-log.Cap())
}

func (s *store) account(calls int) {
	s.calls += int64(calls)
	s.budget.calls.Add(int64(calls))
}

// excessive tells whether a log should go, so that others have room. The latest
// two stay: they are what one call may be using, and hold the largest limits.
func (s *store) excessive() bool {
	held, b := int64(s.logs.Len()), s.budget
	return held > minShardKeys &&
		(b.overKeys() && held > b.maxKeys/b.shards || b.overCalls() && s.calls > b.maxCalls/b.shards)
}

// sweep drops what has counted its last call before, from the end of the line to
// the first that has not.
func (s *store) sweep(before int64) {
	for _, log, ok := s.logs.GetOldest(); ok; _, log, ok = s.logs.GetOldest() {
		if newest, _ := log.Newest(); newest >= before {
			return
		}
		s.dropOldest()
	}
}
