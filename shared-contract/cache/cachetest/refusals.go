package cachetest

import (
	"context"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/cache"
)

func refusesZeros(s scene) {
	k := s.key()
	token := s.wantStored(s.put(k, s.entry("one", long)))
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	s.wantRefused(ctx, cache.CauseRequest, cache.Key{}, token, s.entry("two", long))
	s.wantRefusedWrites(ctx, cache.CauseRequest, k, token, cache.Entry{})
	s.wantHit(k, "one")
}

func refusesNoDeadline(s scene) {
	s.wantRefusedContext(context.Background())
	cancelable, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.wantRefusedContext(cancelable)
}

func refusesEnded(s scene) {
	canceled, cancel := context.WithTimeout(context.Background(), long)
	cancel()
	s.wantRefusedContext(canceled)
	late, cancelLate := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancelLate()
	s.wantRefusedContext(late)
}

// wantRefusedContext wants no call of ctx to be served, where something is and
// where nothing is.
func (s scene) wantRefusedContext(ctx context.Context) {
	s.Helper()
	k, nothing := s.key(), s.key()
	token := s.wantStored(s.put(k, s.entry("one", long)))
	s.wantRefused(ctx, cache.CauseDeadline, k, token, s.entry("two", long))
	s.wantRefused(ctx, cache.CauseDeadline, nothing, token, s.entry("two", long))
	s.wantHit(k, "one")
	s.wantMiss(nothing)
}

func (s scene) wantRefused(ctx context.Context, cause cache.Cause, k cache.Key, token cache.Token, e cache.Entry) {
	s.Helper()
	want := "unavailable " + string(cause)
	if got := readingName(s.port.Get(ctx, k)); got != want {
		s.Errorf("get: got %s, want %s", got, want)
	}
	if got := writingName(s.port.Delete(ctx, k)); got != want {
		s.Errorf("delete: got %s, want %s", got, want)
	}
	s.wantRefusedWrites(ctx, cause, k, token, e)
}

func (s scene) wantRefusedWrites(ctx context.Context, cause cache.Cause, k cache.Key, token cache.Token, e cache.Entry) {
	s.Helper()
	want := "unavailable " + string(cause)
	for verb, got := range map[string]cache.Writing{
		"put":                 s.port.Put(ctx, k, e),
		"put if absent":       s.port.PutIfAbsent(ctx, k, e),
		"compare and replace": s.port.CompareAndReplace(ctx, k, token, e),
	} {
		if got := writingName(got); got != want {
			s.Errorf("%s: got %s, want %s", verb, got, want)
		}
	}
}
