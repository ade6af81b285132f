package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/edgelimit/edgelimit/bench/internal/contender"
	"github.com/edgelimit/edgelimit/bench/internal/report"
	"github.com/edgelimit/edgelimit/bench/internal/server"
)

// plan is what a run measures, and for how long.
type plan struct {
	rounds   int
	slice    time.Duration
	few      int           // rounds of the growth of subjects
	requests time.Duration // of one run of wrk
	subjects int           // of every race but those of growth
	kept     int           // subjects whose memory is measured
	callers  []int         // all contenders
	many     int           // callers, more than the gateway has places for
	growth   []int         // subjects
	only     string
	root     string

	// Of the profile alone.
	tries    int           // rounds of scripts
	scripted int           // decisions of a script in one of them
	sampled  time.Duration // how long callers are looked into
	kinds    int           // subjects of each kind of state
}

var full = plan{
	rounds: 5, slice: 400 * time.Millisecond, few: 3, requests: time.Second,
	subjects: 10_000, kept: 100_000, callers: []int{1, 16, 64, 256}, many: 1024,
	growth: []int{1, 1_000, 10_000, 100_000, 1_000_000},

	tries: 30, scripted: 512, sampled: 15 * time.Second, kinds: 50_000,
}

var short = plan{
	rounds: 3, slice: 100 * time.Millisecond, few: 3, requests: time.Second,
	subjects: 10_000, kept: 10_000, callers: []int{1, 16, 64, 256}, many: 1024,
	growth: []int{1, 1_000},

	tries: 8, scripted: 512, sampled: 500 * time.Millisecond, kinds: 5_000,
}

// growthCallers is how many callers decide while the subjects grow.
const growthCallers = 64

// dualWindows are a window in which nearly all is denied and one in which most is
// allowed.
var dualWindows = []time.Duration{time.Minute, 50 * time.Millisecond}

// dualCallers are how many callers ask the dual layer.
var dualCallers = []int{1, 64}

// all is who decides, in the order of the tables. Whoever comes to be measured gets
// a line here.
func all() []contender.Contender {
	return slices.Concat(
		limiters(contender.Allowed), []contender.Contender{contender.NewGroupCommit(), contender.NewBareCounter()}, contender.Floors(),
		limiters(contender.Denied), []contender.Contender{contender.NewDenialCache()},
	)
}

func limiters(path contender.Path) []contender.Contender {
	return append(contender.Edgelimit(path), contender.NewRedisRate(path), contender.NewUlule(path), contender.NewThrottled(path))
}

// wants tells whether a name was asked for.
func (p plan) wants(name string) bool { return strings.Contains(name, p.only) }

// chosen are those contenders that were asked for.
func (p plan) chosen(cs ...contender.Contender) []contender.Contender {
	var kept []contender.Contender
	for _, c := range cs {
		if p.wants(c.Name) {
			kept = append(kept, c)
		}
	}
	return kept
}

// on runs a measurement on a server of its own.
func (p plan) on(ctx context.Context, args []string, measure func(bench, report.Run) error) (err error) {
	folder, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	run := report.Run{Date: time.Now().UTC().Format("2006-01-02 15:04 UTC"), Command: command(args), Machine: machine(), Cores: runtime.NumCPU(), Load: loadAverage(), Rounds: p.rounds, Slice: p.slice}
	s, err := server.Start(ctx, folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if run.Redis, err = s.Version(ctx); err != nil {
		return fmt.Errorf("ask redis-server for its version: %w", err)
	}
	return measure(bench{plan: p, server: s, folder: folder}, run)
}

// performance is the page of everyone side by side.
func (p plan) performance(ctx context.Context, args []string) (text string, err error) {
	var page report.Page
	err = p.on(ctx, args, func(b bench, run report.Run) (err error) {
		page = report.Page{Run: run, Few: min(p.rounds, p.few)}
		page.Findings, err = b.findings(ctx)
		return err
	})
	return page.Text(), err
}

// profile is the page of where the time and the memory go.
func (p plan) profile(ctx context.Context, args []string) (text string, err error) {
	var page report.Profile
	err = p.on(ctx, args, func(b bench, run report.Run) error {
		page = report.Profile{Run: run}
		return b.profile(ctx, &page)
	})
	return page.Text(), err
}
