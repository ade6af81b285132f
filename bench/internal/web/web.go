package web

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/edgelimit/edgelimit/bench/internal/race"
)

// The ways that wrk goes.
const (
	Direct    = "upstream alone"
	Unlimited = "gateway, limiting off"
	Limited   = "gateway, limiting on"
)

// ErrNoWrk says that wrk is not on the PATH.
var ErrNoWrk = errors.New("no wrk on the PATH")

// Result is what came one way: medians over the rounds.
type Result struct {
	Name                string
	PerSecond, P50, P99 float64 // requests, milliseconds, milliseconds
	Requests            int     // in all rounds
	Wrong               int     // answers that are no 2xx, and requests that failed
}

// Void tells that too many answers were wrong for the figures to say anything.
func (r Result) Void() bool { return race.Void(r.Wrong, r.Requests) }

// Config is what a comparison needs.
type Config struct {
	Root   string // the repository
	Folder string // for files that are not kept
	Redis  string // host:port
	Rounds int
	Slice  time.Duration // of one run of wrk, at least a second
}

// way is one of the things that wrk asks.
type way struct {
	name, url string
	laps      []figures
}

// Compare asks, in rounds, the upstream itself and the gateway in front of it.
// Without wrk it is ErrNoWrk.
func Compare(ctx context.Context, c Config) ([]Result, error) {
	wrkProgram, err := exec.LookPath("wrk")
	if err != nil {
		return nil, ErrNoWrk
	}
	program, err := Build(ctx, c.Root, c.Folder)
	if err != nil {
		return nil, err
	}
	behind, upstream, err := startUpstream(ctx, c.Folder)
	if err != nil {
		return nil, err
	}
	defer behind.Kill()
	off, offURL, err := startGateway(ctx, program, c.Folder, "unlimited", fmt.Sprintf(unlimited, upstream))
	if err != nil {
		return nil, err
	}
	defer off.Kill()
	on, onURL, err := startGateway(ctx, program, c.Folder, "limited", fmt.Sprintf(limited, upstream, c.Redis))
	if err != nil {
		return nil, err
	}
	defer on.Kill()
	ways := []way{{name: Direct, url: upstream + "/"}, {name: Unlimited, url: offURL}, {name: Limited, url: onURL}}
	if err := c.rounds(ctx, wrkProgram, ways); err != nil {
		return nil, err
	}
	results := make([]Result, len(ways))
	for i, w := range ways {
		results[i] = w.result()
	}
	return results, nil
}

func (c Config) rounds(ctx context.Context, program string, ways []way) error {
	for round := range c.Rounds {
		for i := range ways {
			w := &ways[(i+round)%len(ways)]
			lap, err := wrk(ctx, program, w.url, c.Slice)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			w.laps = append(w.laps, lap)
		}
	}
	return nil
}

func (w way) result() Result {
	r := Result{Name: w.name}
	var rates, p50s, p99s []float64
	for _, lap := range w.laps {
		rates, p50s, p99s = append(rates, lap.perSecond), append(p50s, lap.p50), append(p99s, lap.p99)
		r.Requests += lap.requests
		r.Wrong += lap.wrong
	}
	r.PerSecond, r.P50, r.P99 = race.Median(rates), race.Median(p50s), race.Median(p99s)
	return r
}
