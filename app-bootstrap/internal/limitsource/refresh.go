package limitsource

import (
	"context"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/cache"
)

// What the cache holds of a tenant ends staleFor after the document's own TTL: it is
// fresh while more than staleFor is left, by the cache's clock. An empty value is a
// claim: somebody is asking. Who replaces a document with itself and a little more
// time has claimed to renew it. Both claims end by themselves, so nothing needs to be
// given back.

// load learns what it can about a tenant, from the cache or the source.
func (s *Source) load(tenant string) Document {
	key, err := cache.NewKey("limits", tenant)
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
		document = s.remember(tenant, document, memoFor)
		s.renew(tenant, key, hit)
		return document
	}
	return s.ask(tenant, func(d Document) { s.replace(key, hit.Token, d.encode(), s.config.TTL+staleFor) })
}

// renew asks anew without keeping anybody waiting. Of all processes that find the
// same document stale, one asks.
func (s *Source) renew(tenant string, key cache.Key, hit cache.Hit) {
	if !s.begin() {
		return
	}
	go func() {
		defer s.tasks.Done()
		if !s.place() {
			return
		}
		defer s.leave()
		claim, claimed := stored(s.replace(key, hit.Token, hit.Value, staleFor+retryAfter))
		if !claimed {
			s.config.Observer(Waived)
			return
		}
		if document, ok := s.question(tenant); ok {
			s.replace(key, claim, document.encode(), s.config.TTL+staleFor)
			s.remember(tenant, document, memoFor)
		}
	}()
}

// first claims the question about a tenant of whom the cache holds nothing, and
// asks. Without a cache to claim it in, it asks for this process alone.
func (s *Source) first(tenant string, key cache.Key) Document {
	claim, err := cache.NewEntry(nil, retryAfter)
	if err != nil {
		return s.keep(tenant, retryAfter)
	}
	ctx, cancel := s.within()
	defer cancel()
	return cache.MatchWriting(s.config.Cache.PutIfAbsent(ctx, key, claim),
		func(claimed cache.Stored) Document {
			return s.ask(tenant, func(d Document) { s.replace(key, claimed.Token, d.encode(), s.config.TTL+staleFor) })
		},
		func(cache.Conflict) Document { return s.await(tenant, key) },
		func(cache.Unavailable) Document { return s.ask(tenant, nil) })
}

func isClaim(h cache.Hit) bool { return len(h.Value) == 0 }

// await waits for what the process that holds the claim learns, as long as a question
// may take.
func (s *Source) await(tenant string, key cache.Key) Document {
	s.config.Observer(Waived)
	ctx, cancel := s.within()
	defer cancel()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			return s.keep(tenant, memoFor)
		}
		var learnt *cache.Hit
		going := cache.MatchReading(s.config.Cache.Get(ctx, key),
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

// ask asks the source and has what it answers stored. What cannot be learnt now is
// not asked for again for a while.
func (s *Source) ask(tenant string, store func(Document)) Document {
	if !s.place() {
		return s.keep(tenant, memoFor)
	}
	defer s.leave()
	document, ok := s.question(tenant)
	if !ok {
		return s.keep(tenant, retryAfter)
	}
	lasts := min(s.config.TTL, retryAfter) // without a cache this process alone keeps it
	if store != nil {
		store(document)
		lasts = memoFor
	}
	return s.remember(tenant, document, lasts)
}

// place takes one of the places for questions, without waiting for it.
func (s *Source) place() bool {
	select {
	case s.places <- struct{}{}:
		return true
	default:
		s.config.Observer(Waived)
		return false
	}
}

func (s *Source) leave() { <-s.places }

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

// stored is the token of a write, if it took effect.
func stored(w cache.Writing) (cache.Token, bool) {
	token := cache.MatchWriting(w, func(s cache.Stored) cache.Token { return s.Token },
		func(cache.Conflict) cache.Token { return cache.Token{} },
		func(cache.Unavailable) cache.Token { return cache.Token{} })
	return token, !token.IsZero()
}
