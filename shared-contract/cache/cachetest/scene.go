package cachetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/cache"
)

// long outlasts every check.
const long = time.Hour

// scene is one check's own place: a port, and keys that no other check has.
type scene struct {
	*testing.T
	port cache.CachePort
	pass func(t *testing.T, d time.Duration)
}

// key is a key of this check alone.
func (s scene) key() cache.Key { return s.keyOf("cachetest", rand.Text()) }

func (s scene) keyOf(region, name string) cache.Key {
	s.Helper()
	k, err := cache.NewKey(region, name)
	if err != nil {
		s.Fatal(err)
	}
	return k
}

func (s scene) entry(value string, ttl time.Duration) cache.Entry {
	s.Helper()
	e, err := cache.NewEntry([]byte(value), ttl)
	if err != nil {
		s.Fatal(err)
	}
	return e
}

// call makes a call with a deadline.
func call[T any](f func(ctx context.Context) T) T {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return f(ctx)
}

func (s scene) get(k cache.Key) cache.Reading {
	return call(func(ctx context.Context) cache.Reading { return s.port.Get(ctx, k) })
}

func (s scene) put(k cache.Key, e cache.Entry) cache.Writing {
	return call(func(ctx context.Context) cache.Writing { return s.port.Put(ctx, k, e) })
}

func (s scene) putIfAbsent(k cache.Key, e cache.Entry) cache.Writing {
	return call(func(ctx context.Context) cache.Writing { return s.port.PutIfAbsent(ctx, k, e) })
}

func (s scene) replace(k cache.Key, observed cache.Token, e cache.Entry) cache.Writing {
	return call(func(ctx context.Context) cache.Writing { return s.port.CompareAndReplace(ctx, k, observed, e) })
}

func (s scene) delete(k cache.Key) cache.Writing {
	return call(func(ctx context.Context) cache.Writing { return s.port.Delete(ctx, k) })
}

// wantHit is the hit on k, whose value must be value.
func (s scene) wantHit(k cache.Key, value string) cache.Hit {
	s.Helper()
	r := s.get(k)
	if got, want := readingName(r), fmt.Sprintf("hit %.80q", value); got != want {
		s.Errorf("got %s, want %s", got, want)
	}
	return hitOf(r)
}

func (s scene) wantMiss(k cache.Key) {
	s.Helper()
	if got := readingName(s.get(k)); got != "miss" {
		s.Errorf("got %s, want miss", got)
	}
}

// wantStored is the token of w, which must be stored.
func (s scene) wantStored(w cache.Writing) cache.Token {
	s.Helper()
	if got := writingName(w); got != "stored" {
		s.Errorf("got %s, want stored", got)
	}
	return tokenOf(w)
}

func (s scene) wantConflict(w cache.Writing) {
	s.Helper()
	if got := writingName(w); got != "conflict" {
		s.Errorf("got %s, want conflict", got)
	}
}

func readingName(r cache.Reading) string {
	return cache.MatchReading(r,
		func(h cache.Hit) string { return fmt.Sprintf("hit %.80q", h.Value) },
		func(cache.Miss) string { return "miss" },
		func(u cache.Unavailable) string { return "unavailable " + string(u.Cause) })
}

func hitOf(r cache.Reading) cache.Hit {
	return cache.MatchReading(r, func(h cache.Hit) cache.Hit { return h },
		func(cache.Miss) cache.Hit { return cache.Hit{} },
		func(cache.Unavailable) cache.Hit { return cache.Hit{} })
}

func writingName(w cache.Writing) string {
	return cache.MatchWriting(w,
		func(cache.Stored) string { return "stored" },
		func(cache.Conflict) string { return "conflict" },
		func(u cache.Unavailable) string { return "unavailable " + string(u.Cause) })
}

func tokenOf(w cache.Writing) cache.Token {
	return cache.MatchWriting(w, func(st cache.Stored) cache.Token { return st.Token },
		func(cache.Conflict) cache.Token { return cache.Token{} },
		func(cache.Unavailable) cache.Token { return cache.Token{} })
}
