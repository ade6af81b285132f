package contender_test

import (
	"context"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/bench/internal/contender"
	"github.com/edgelimit/edgelimit/bench/internal/load"
	"github.com/edgelimit/edgelimit/bench/internal/server"
)

// TestContender_answersItsPath asks each one first and then thrice more: a limit of 1
// is used up by then.
func TestContender_answersItsPath(t *testing.T) {
	s, err := server.Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	both, twice := contender.Dual(time.Minute)
	all := append(contender.Floors(), contender.NewBareCounter(), contender.NewDenialCache(), contender.NewGroupCommit(), contender.NewPatient(), both, twice)
	for _, path := range []contender.Path{contender.Allowed, contender.Denied, contender.Mixed} {
		all = append(all, contender.Edgelimit(path)...)
		all = append(all, contender.NewRedisRate(path), contender.NewUlule(path), contender.NewThrottled(path))
	}
	names := contender.Names(3)
	for _, c := range all {
		t.Run(c.Name+" "+string(c.Path), func(t *testing.T) {
			if err := s.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			limiter, err := c.Open(s.Addr(), names)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = limiter.Close() }()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			decide := limiter.Caller(ctx)
			if allowed, err := load.Insist(ctx, decide, 2); err != nil || !allowed {
				t.Fatalf("the first decision: %v, %v; want allowed", allowed, err)
			}
			for range 3 {
				if allowed, err := load.Insist(ctx, decide, 2); err != nil || !c.Path.Expects(allowed) {
					t.Fatalf("a later decision: %v, %v; want %s", allowed, err, c.Path)
				}
			}
		})
	}
}

func TestNames_areDistinctAndOfOneLength(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range contender.Names(1000) {
		if len(name) != 43 || seen[name] {
			t.Fatalf("name %q, seen before: %v", name, seen[name])
		}
		seen[name] = true
	}
}
