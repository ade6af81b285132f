package main

import (
	"context"
	"errors"
	"fmt"
	"os"
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
}

var full = plan{
	rounds: 5, slice: 400 * time.Millisecond, few: 3, requests: time.Second,
	subjects: 10_000, kept: 100_000, callers: []int{1, 16, 64, 256}, many: 1024,
	growth: []int{1, 1_000, 10_000, 100_000, 1_000_000},
}

var short = plan{
	rounds: 3, slice: 100 * time.Millisecond, few: 3, requests: time.Second,
	subjects: 10_000, kept: 10_000, callers: []int{1, 16, 64, 256}, many: 1024,
	growth: []int{1, 1_000},
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

// page measures it all.
func (p plan) page(ctx context.Context, args []string) (page report.Page, err error) {
	folder, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return report.Page{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	page = report.Page{Date: time.Now().UTC().Format("2006-01-02 15:04 UTC"), Command: command(args), Machine: machine(), Load: loadAverage(), Rounds: p.rounds, Few: min(p.rounds, p.few), Slice: p.slice}
	s, err := server.Start(ctx, folder)
	if err != nil {
		return report.Page{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if page.Redis, err = s.Version(ctx); err != nil {
		return report.Page{}, fmt.Errorf("ask redis-server for its version: %w", err)
	}
	b := bench{plan: p, server: s, folder: folder}
	page.Findings, err = b.findings(ctx)
	return page, err
}
