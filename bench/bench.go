package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/edgelimit/edgelimit/bench/internal/contender"
	"github.com/edgelimit/edgelimit/bench/internal/finding"
	"github.com/edgelimit/edgelimit/bench/internal/footprint"
	"github.com/edgelimit/edgelimit/bench/internal/race"
	"github.com/edgelimit/edgelimit/bench/internal/server"
	"github.com/edgelimit/edgelimit/bench/internal/web"
)

// bench is a plan and what it is carried out with.
type bench struct {
	plan
	server *server.Server
	folder string
}

func (b bench) findings(ctx context.Context) (f finding.Findings, err error) {
	parts := []struct {
		name    string
		measure func(context.Context, *finding.Findings) error
	}{
		{"decisions", b.decisions},
		{"growth", b.grow},
		{"memory", b.memory},
		{"dual layer", b.dual},
		{"gateway", b.gateway},
	}
	for _, part := range parts {
		fmt.Fprintln(os.Stderr, "measure:", part.name)
		if err := b.server.Flush(ctx); err != nil {
			return f, err
		}
		if err := part.measure(ctx, &f); err != nil {
			return f, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return f, nil
}

func (b bench) decisions(ctx context.Context, f *finding.Findings) error {
	entries, err := b.enter(ctx, b.chosen(all()...), b.subjects)
	if err != nil || len(entries) == 0 {
		return err
	}
	defer leave(entries)
	for _, callers := range b.callers {
		if err := b.race(ctx, &f.Decisions, callers, b.subjects, entries); err != nil {
			return err
		}
	}
	return nil
}

// grow has the token bucket and redis_rate decide by more callers than the others
// have, and then for ever more subjects.
func (b bench) grow(ctx context.Context, f *finding.Findings) error {
	if err := b.grown(ctx, &f.Crowd, b.many, b.subjects, contender.NewPatient()); err != nil {
		return err
	}
	b.rounds = min(b.rounds, b.few)
	for _, subjects := range b.growth {
		if err := b.grown(ctx, &f.Growth, growthCallers, subjects, contender.NewTokenBucket()); err != nil {
			return err
		}
	}
	return nil
}

func (b bench) grown(ctx context.Context, heats *[]finding.Heat, callers, subjects int, c contender.Contender) error {
	if err := b.server.Flush(ctx); err != nil {
		return err
	}
	entries, err := b.enter(ctx, b.chosen(c, contender.NewRedisRate(contender.Allowed)), subjects)
	if err != nil || len(entries) == 0 {
		return err
	}
	defer leave(entries)
	return b.race(ctx, heats, callers, subjects, entries)
}

func (b bench) memory(ctx context.Context, f *finding.Findings) (err error) {
	cs := append(limiters(contender.Mixed), contender.NewBareCounter(), contender.Floors()[0])
	f.MemorySubjects = b.kept
	f.Memory, err = footprint.Measure(ctx, b.server, b.chosen(cs...), b.kept)
	return err
}

func (b bench) dual(ctx context.Context, f *finding.Findings) error {
	for _, window := range dualWindows {
		both, twice := contender.Dual(window)
		cs := b.chosen(both, twice)
		if len(cs) < 2 {
			continue
		}
		entries, err := b.enter(ctx, cs, contender.DualUsers)
		if err != nil {
			return err
		}
		for _, callers := range dualCallers {
			var heats []finding.Heat
			if err = b.race(ctx, &heats, callers, contender.DualUsers, entries); err != nil {
				break
			}
			f.Dual = append(f.Dual, finding.Dual{
				Window: window, Callers: callers, Both: heats[0].Results[0], Twice: heats[0].Results[1],
			})
		}
		leave(entries)
		if err != nil {
			return err
		}
	}
	return nil
}

func (b bench) gateway(ctx context.Context, f *finding.Findings) (err error) {
	if !b.wants("gateway") {
		return nil
	}
	f.Gateway, err = web.Compare(ctx, web.Config{Root: b.root, Folder: b.folder, Redis: b.server.Addr(), Rounds: b.rounds, Slice: b.requests})
	if errors.Is(err, web.ErrNoWrk) {
		f.NoGateway = err.Error()
		return nil
	}
	return err
}

func (b bench) race(ctx context.Context, heats *[]finding.Heat, callers, subjects int, entries []race.Entry) error {
	r := race.Race{Callers: callers, Subjects: subjects, Rounds: b.rounds, Slice: b.slice}
	results, err := r.Run(ctx, b.server, entries)
	*heats = append(*heats, finding.Heat{Race: r, Results: results})
	return err
}

// enter opens the contenders, and lets each decide for every subject.
func (b bench) enter(ctx context.Context, cs []contender.Contender, subjects int) ([]race.Entry, error) {
	names := contender.Names(subjects)
	var entries []race.Entry
	for _, c := range cs {
		e, err := race.Enter(ctx, b.server, c, names)
		if err != nil {
			leave(entries)
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// leave closes contenders whose figures are taken: what they say to that changes
// nothing.
func leave(entries []race.Entry) {
	for _, e := range entries {
		_ = e.Close()
	}
}
