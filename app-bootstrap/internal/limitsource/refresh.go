package limitsource

import (
	"context"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/cache"
)

// What the cache holds of a tenant ends staleFor after the document's own TTL: it is
// fresh while more than staleFor is left, by the cache's clock. An empty value is a
// claim: somebody is asking. Who replaces a document with itself and a little more
// time has claimed to renew it. Both claims end by themselves, after claimFor, so
// nothing needs to be given back.

// loadFirst is load for a tenant of whom nothing is known. Whoever invents tenants
// has only so many looked for at once; the others leave no trace.
func (s *Source) loadFirst(tenant string) Document {
	if !s.take(s.firsts) {
		return Document{}
	}
	defer func() { <-s.firsts }()
	return s.load(tenant)
}

// load learns what it can about a tenant, from the cache or the source.
func (s *Source) load(tenant string) Document {
	if !s.begin() {
		return s.keep(tenant, retryAfter)
	}
	defer s.tasks.Done()
	key, err := cache.NewKey("limits", s.origin+tenant)
	if err != nil {
		return s.keep(tenant, retryAfter)
	}
	return cache.MatchReading(s.look(key),
		func(h cache.Hit) Document { return s.found(tenant, key, h) },
		func(cache.Miss) Document { return s.first(tenant, key) },
		func(cache.Unavailable) Document { return s.ask(tenant, nil) })
}

func (s *Source) look(key cache.Key) cache.Reading {
	ctx, cancel := s.within()
	defer cancel()
	return s.config.Cache.Get(ctx, key)
}

// found takes what is in the cache, and has it renewed if it is stale.
func (s *Source) found(tenant string, key cache.Key, hit cache.Hit) Document {
	if isClaim(hit) {
		return s.await(tenant, key)
	}
	document, err := parse(hit.Value)
	if err == nil && hit.TTL > staleFor {
		return s.remember(tenant, document, memoFor)
	}
	if err == nil {
		document = s.older(tenant, document)
		s.renew(tenant, key, hit)
		return document
	}
	return s.ask(tenant, s.over(key, hit.Token))
}

// older takes a document that is stale, unless this process has learnt of a later one
// that the cache would not take.
func (s *Source) older(tenant string, d Document) Document {
	if s.memos.hasOwn(tenant) {
		return s.keep(tenant, memoFor)
	}
	return s.remember(tenant, d, memoFor)
}

// renew asks anew without keeping anybody waiting. Of all processes that find the
// same document stale, one asks.
func (s *Source) renew(tenant string, key cache.Key, hit cache.Hit) {
	if !s.place() {
		return
	}
	if !s.begin() {
		s.leave()
		return
	}
	go func() {
		defer s.tasks.Done()
		defer s.leave()
		cache.MatchWriting(s.replace(key, hit.Token, hit.Value, staleFor+s.claimFor()),
			func(claim cache.Stored) Document { return s.learn(tenant, s.over(key, claim.Token)) },
			func(cache.Conflict) Document { s.config.Observer(Waived); return Document{} },
			func(cache.Unavailable) Document { return s.learn(tenant, nil) }) // it can be read, and not written
	}()
}

// first claims the question about a tenant of whom the cache holds nothing, and
// asks. Without a cache to claim it in, it asks for this process alone.
func (s *Source) first(tenant string, key cache.Key) Document {
	if !s.place() {
		return s.keep(tenant, memoFor/10) // nothing is claimed that nobody asks
	}
	return cache.MatchWriting(s.claim(key), // each leaves the place
		func(claim cache.Stored) Document {
			defer s.leave()
			return s.learn(tenant, s.over(key, claim.Token))
		},
		func(cache.Conflict) Document {
			s.leave()
			return s.await(tenant, key)
		},
		func(cache.Unavailable) Document {
			defer s.leave()
			return s.learn(tenant, nil)
		})
}

func (s *Source) claim(key cache.Key) cache.Writing {
	entry, err := cache.NewEntry(nil, s.claimFor())
	if err != nil {
		return cache.Writing{}
	}
	ctx, cancel := s.within()
	defer cancel()
	return s.config.Cache.PutIfAbsent(ctx, key, entry)
}

// claimFor is how long a claim lasts: no shorter than its own writing, the question and
// the store of the answer may take.
func (s *Source) claimFor() time.Duration {
	return max(retryAfter, (3 * s.config.Timeout).Truncate(time.Millisecond))
}

func isClaim(h cache.Hit) bool { return len(h.Value) == 0 }

// await waits for what the process that holds the claim learns, as long as a question
// may take. Who knows something already does not wait.
func (s *Source) await(tenant string, key cache.Key) Document {
	s.config.Observer(Waived)
	if s.memos.has(tenant) {
		return s.keep(tenant, memoFor)
	}
	end := time.NewTimer(s.config.Timeout)
	defer end.Stop()
	for pause := lookEvery; ; pause = min(2*pause, memoFor/10) {
		select {
		case <-time.After(pause):
		case <-end.C:
			return s.keep(tenant, memoFor)
		case <-s.context.Done():
			return s.keep(tenant, memoFor)
		}
		var learnt *cache.Hit
		going := cache.MatchReading(s.look(key),
			func(h cache.Hit) bool { learnt = &h; return isClaim(h) },
			func(cache.Miss) bool { return false },
			func(cache.Unavailable) bool { return false })
		switch {
		case going:
		case learnt == nil: // the claim has ended, or the cache
			return s.keep(tenant, memoFor)
		default:
			return s.found(tenant, key, *learnt)
		}
	}
}

// ask is learn, if there is a place for a question.
func (s *Source) ask(tenant string, store func(Document) cache.Writing) Document {
	if !s.place() {
		return s.keep(tenant, memoFor)
	}
	defer s.leave()
	return s.learn(tenant, store)
}

// learn asks the source and has what it answers stored. What cannot be learnt now is
// not asked for again for a while; what cannot be stored, this process keeps for the
// TTL.
func (s *Source) learn(tenant string, store func(Document) cache.Writing) Document {
	document, ok := s.question(tenant)
	if !ok {
		return s.keep(tenant, retryAfter)
	}
	if store == nil {
		return s.own(tenant, document, s.config.TTL)
	}
	return cache.MatchWriting(store(document),
		func(cache.Stored) Document { return s.remember(tenant, document, memoFor) },
		func(cache.Conflict) Document { return s.remember(tenant, document, memoFor) },
		func(cache.Unavailable) Document { // what was claimed looks fresh until the claim ends
			return s.own(tenant, document, max(s.config.TTL, s.claimFor()))
		})
}

// place takes one of the places for questions, without waiting for it.
func (s *Source) place() bool { return s.take(s.places) }

func (s *Source) leave() { <-s.places }

func (s *Source) take(places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
		s.config.Observer(Waived)
		return false
	}
}

// question is one question to the source.
func (s *Source) question(tenant string) (Document, bool) {
	ctx, cancel := s.within()
	defer cancel()
	document, err := s.fetch.fetch(ctx, tenant)
	if err != nil {
		s.failed(err)
		return Document{}, false
	}
	s.config.Observer(Fetched)
	return document, true
}

// over stores a document in place of the write that observed is of, for the TTL.
func (s *Source) over(key cache.Key, observed cache.Token) func(Document) cache.Writing {
	return func(d Document) cache.Writing {
		return s.replace(key, observed, d.encode(), s.config.TTL+staleFor)
	}
}

func (s *Source) replace(key cache.Key, observed cache.Token, value []byte, ttl time.Duration) cache.Writing {
	entry, err := cache.NewEntry(value, ttl)
	if err != nil {
		return cache.Writing{}
	}
	ctx, cancel := s.within()
	defer cancel()
	return s.config.Cache.CompareAndReplace(ctx, key, observed, entry)
}

func (s *Source) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.context, s.config.Timeout)
}
