package main

import (
	"context"
	"fmt"
	"os"

	"github.com/edgelimit/edgelimit/bench/internal/ablation"
	"github.com/edgelimit/edgelimit/bench/internal/contender"
	"github.com/edgelimit/edgelimit/bench/internal/cputime"
	"github.com/edgelimit/edgelimit/bench/internal/finding"
	"github.com/edgelimit/edgelimit/bench/internal/footprint"
	"github.com/edgelimit/edgelimit/bench/internal/report"
)

// profiledCallers are how many callers those decide for whose time is looked into.
var profiledCallers = []int{1, 64}

// raced are how many callers they race with: those of every bar that speaks of time.
var raced = []int{1, 64, 256}

// inBatch is how many decisions a full batch makes.
const inBatch = 64

func (b bench) profile(ctx context.Context, page *report.Profile) error {
	parts := []struct {
		name    string
		measure func(context.Context, *report.Profile) error
	}{
		{"programs", b.programs},
		{"races", b.races},
		{"dual layer", func(ctx context.Context, p *report.Profile) error { return b.dual(ctx, &p.Findings) }},
		{"memory", b.kindsOfState},
		{"callers", b.sample},
	}
	for _, part := range parts {
		fmt.Fprintln(os.Stderr, "profile:", part.name)
		if err := b.server.Flush(ctx); err != nil {
			return err
		}
		if err := part.measure(ctx, page); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// programs runs in pipelines each algorithm's program, cut short and whole, and what
// it is compared with.
func (b bench) programs(ctx context.Context, page *report.Profile) error {
	var families []ablation.Family
	for _, c := range contender.Edgelimit(contender.Allowed) {
		family, err := b.family(ctx, c)
		if err != nil {
			return err
		}
		families = append(families, family)
	}
	for _, c := range []contender.Contender{contender.NewRedisRate(contender.Allowed), contender.NewBareCounter()} {
		script, err := ablation.Of(ctx, b.server, c, ablation.Single)
		if err != nil {
			return err
		}
		families = append(families, ablation.Family{script})
	}
	for _, script := range append(ablation.Trusting(), ablation.Counters()) {
		families = append(families, ablation.Family{script, script.Sized(inBatch)})
	}
	page.Pipeline = ablation.Pipeline{Subjects: b.subjects, Rounds: b.tries, Decisions: b.scripted}
	costs, err := page.Pipeline.Run(ctx, b.server, families)
	if err != nil {
		return err
	}
	for i := range finding.Algorithms {
		page.Programs = append(page.Programs, ablation.ProgramOf(costs[i]))
	}
	rest := costs[len(finding.Algorithms):]
	page.RedisRate, page.Counter = rest[0][0], rest[1][0]
	page.Forms = rest[2:]
	return nil
}

func (b bench) family(ctx context.Context, c contender.Contender) (ablation.Family, error) {
	whole, err := ablation.Of(ctx, b.server, c, ablation.Single)
	if err != nil {
		return nil, err
	}
	batch, err := ablation.Of(ctx, b.server, c, ablation.Batch)
	if err != nil {
		return nil, err
	}
	return ablation.FamilyOf(whole, batch, inBatch)
}

func (b bench) races(ctx context.Context, page *report.Profile) error {
	cs := append(contender.Edgelimit(contender.Allowed), contender.NewRedisRate(contender.Allowed), contender.NewBareCounter())
	entries, err := b.enter(ctx, cs, b.subjects)
	if err != nil {
		return err
	}
	defer leave(entries)
	for _, callers := range raced {
		if err := b.race(ctx, &page.Findings.Decisions, callers, b.subjects, entries); err != nil {
			return err
		}
	}
	return nil
}

// kindsOfState keeps the states of those that a bar is set for in other ways.
func (b bench) kindsOfState(ctx context.Context, page *report.Profile) error {
	peer, err := footprint.StateOf(ctx, b.server, contender.NewRedisRate(contender.Mixed))
	if err != nil {
		return err
	}
	var length int
	measure := func(kept *[]footprint.Kind, name string, state footprint.State, ttl footprint.TTL, shorter int) {
		if err == nil {
			var kind footprint.Kind
			kind, err = footprint.MeasureKind(ctx, b.server, name, state, ttl, length-shorter, b.kinds)
			*kept = append(*kept, kind)
		}
	}
	for _, c := range contender.Edgelimit(contender.Mixed) {
		if c.Name == contender.SlidingWindowCounter {
			continue // no bar is set for it
		}
		state, failed := footprint.StateOf(ctx, b.server, c)
		if failed != nil {
			return failed
		}
		length = len(state.Key)
		ways := report.Ways{Name: c.Name}
		for _, way := range report.WaysToKeep(state) {
			measure(&ways.Kinds, way.Name, way.State, footprint.Mortal, 0)
		}
		page.Memory = append(page.Memory, ways)
	}
	page.Kinds = b.kinds
	number := footprint.State{Text: "1"}
	measure(&page.Rest, report.KeyAlone, number, footprint.Forever, 0)
	measure(&page.Rest, report.KeyWithTTL, number, footprint.Mortal, 0)
	measure(&page.Rest, report.ShorterKey, number, footprint.Mortal, 16)
	measure(&page.Rest, contender.RedisRate, peer, footprint.Mortal, 0)
	return err
}

// sample looks into this process while it decides.
func (b bench) sample(ctx context.Context, page *report.Profile) error {
	cs := []contender.Contender{contender.NewTokenBucket(), contender.NewRedisRate(contender.Allowed), contender.NewBareCounter()}
	entries, err := b.enter(ctx, cs, b.subjects)
	if err != nil {
		return err
	}
	defer leave(entries)
	for _, callers := range profiledCallers {
		for _, e := range entries {
			s := report.Sampled{Name: e.Name, Callers: callers}
			s.Profile, err = cputime.Sample(func() {
				s.Decisions = e.Load(ctx, callers, b.subjects, b.sampled).Decisions
			})
			if err != nil {
				return err
			}
			page.Sampled = append(page.Sampled, s)
		}
	}
	return nil
}
