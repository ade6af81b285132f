// Package footprint measures what a subject costs the memory of Redis.
package footprint

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/edgelimit/edgelimit/bench/internal/contender"
	"github.com/edgelimit/edgelimit/bench/internal/load"
	"github.com/edgelimit/edgelimit/bench/internal/server"
)

const (
	fillers    = 64
	leaveLimit = 10 * time.Second
	pollEvery  = 10 * time.Millisecond

	// settleEvery is longer than a turn of the server's own cron, in which it frees
	// what it outgrew.
	settleEvery = 120 * time.Millisecond
)

// Footprint is what one subject of a contender takes, its key included.
type Footprint struct {
	Name  string
	Bytes float64
}

// Measure asks each contender once for every subject, on an emptied server. All
// keys are made as long as those of the first contender: a longer key takes more,
// and how long it is says nothing of the limiter.
func Measure(ctx context.Context, s *server.Server, contenders []contender.Contender, subjects int) ([]Footprint, error) {
	names := contender.Names(subjects)
	var prints []Footprint
	var wanted int
	for i, c := range contenders {
		length, err := keyLength(ctx, s, c, names)
		if err != nil {
			return nil, fmt.Errorf("the keys of %s: %w", c.Name, err)
		}
		if i == 0 {
			wanted = length
		}
		bytes, err := measure(ctx, s, c, resized(names, wanted-length))
		if err != nil {
			return nil, fmt.Errorf("the memory of %s: %w", c.Name, err)
		}
		prints = append(prints, Footprint{Name: c.Name, Bytes: bytes})
	}
	return prints, nil
}

func measure(ctx context.Context, s *server.Server, c contender.Contender, names []string) (float64, error) {
	if err := s.Flush(ctx); err != nil {
		return 0, err
	}
	before, err := settled(ctx, s)
	if err != nil {
		return 0, err
	}
	if err := fill(ctx, s, c, names); err != nil {
		return 0, err
	}
	after, err := settled(ctx, s)
	return float64(after-before) / float64(len(names)), err
}

// settled is the memory in use once it no longer falls: while the server moves its
// keys to a larger table it holds the smaller one too.
func settled(ctx context.Context, s *server.Server) (int64, error) {
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	last, err := s.Memory(ctx)
	for err == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		var now int64
		if now, err = s.Memory(ctx); now >= last {
			break
		}
		last = now
	}
	return last, err
}

// fill returns once the contender has gone, so that its connections take no memory.
func fill(ctx context.Context, s *server.Server, c contender.Contender, names []string) error {
	limiter, err := c.Open(s.Addr(), names)
	if err != nil {
		return err
	}
	if err := errors.Join(load.Touch(ctx, limiter, len(names), fillers), limiter.Close()); err != nil {
		return err
	}
	return alone(ctx, s)
}

// alone returns once the server has no connection but ours.
func alone(ctx context.Context, s *server.Server) error {
	ctx, cancel := context.WithTimeout(ctx, leaveLimit)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		clients, err := s.Clients(ctx)
		if err != nil || clients == 1 {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d connections are still open: %w", clients, ctx.Err())
		}
	}
}

func keyLength(ctx context.Context, s *server.Server, c contender.Contender, names []string) (int, error) {
	if err := s.Flush(ctx); err != nil {
		return 0, err
	}
	if err := fill(ctx, s, c, names[:1]); err != nil {
		return 0, err
	}
	key, err := s.AnyKey(ctx)
	return len(key), err
}

// resized is each name with that many more characters, or fewer.
func resized(names []string, by int) []string {
	out := make([]string, len(names))
	for i, name := range names {
		if by < 0 {
			out[i] = name[:len(name)+by]
		} else {
			out[i] = name + strings.Repeat("0", by)
		}
	}
	return out
}
