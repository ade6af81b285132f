package main

import (
	"context"
	"fmt"
	"time"

	"github.com/edgelimit/edgelimit/scripts/drill/internal/report"
	"github.com/edgelimit/edgelimit/scripts/drill/internal/stage"
	"github.com/edgelimit/edgelimit/scripts/drill/internal/tally"
)

// outage is the course of one scenario, with everything started.
type outage struct {
	report   report.Report
	scenario report.Scenario
	redis    *stage.Redis
	gateways []*stage.Gateway
	load     *stage.Load
	timeline tally.Timeline
	longer   time.Duration // than the least, for each phase
}

// run kills Redis and brings it back. Each phase takes as many windows as it is
// worth, and longer on a machine that is too busy to send the load.
//
// The log admits its limit in the first part of a window and then nothing, and so
// does the next window. Redis is killed half a window in, so that the window that
// lies across the kill holds both the log that is lost and the replicas' own, and
// comes back as late as lets the same be seen of its return.
func (o *outage) run(ctx context.Context) error {
	window, limit := o.report.Window, o.report.Limit
	if err := o.hold(ctx, "the limit before the outage", 0, 5*window/2+o.longer, byRedis, limit); err != nil {
		return err
	}
	o.timeline.Kill = o.load.Now()
	o.redis.Kill()
	o.timeline.Gone = o.load.Now()

	if err := o.hold(ctx, "the fallback's limit in the outage", o.timeline.Gone, 27*window/8+o.longer, alone, o.scenario.Fallback(limit)*o.report.Replicas); err != nil {
		return err
	}
	if err := o.askReadiness(ctx); err != nil {
		return err
	}

	o.timeline.Start = o.load.Now()
	if err := o.redis.Start(ctx); err != nil {
		return err
	}
	o.scenario.Answered = o.load.Now() - o.timeline.Start
	if err := o.recover(ctx); err != nil {
		return err
	}
	if err := o.hold(ctx, "the limit after the outage", o.timeline.Recovered, 2*window+o.longer, byRedis, limit); err != nil {
		return err
	}
	for _, gateway := range o.gateways {
		if err := gateway.AwaitRedis(ctx, true); err != nil {
			return err
		}
	}
	o.timeline.End = o.load.Now()
	return ctx.Err()
}

func byRedis(s tally.Sample) bool { return s.Result == tally.Admitted && !s.Local }

func alone(s tally.Sample) bool { return s.Result == tally.Admitted && s.Local }

// hold lets the load run for so long, and until a window since from has shown
// enough of bound.
func (o *outage) hold(ctx context.Context, what string, from, length time.Duration, counts func(tally.Sample) bool, bound int) error {
	select {
	case <-time.After(from + length - o.load.Now()):
	case <-ctx.Done():
		return ctx.Err()
	}
	return stage.Await(ctx, what, func() bool {
		seen := tally.Pick(tally.Within(o.load.Samples(), from, o.load.Now()), counts)
		return report.Enough(tally.Worst(seen, o.report.Window), bound)
	})
}

// askReadiness waits until each gateway's /readyz names the outage.
func (o *outage) askReadiness(ctx context.Context) error {
	for _, gateway := range o.gateways {
		if err := gateway.AwaitRedis(ctx, false); err != nil {
			return err
		}
		status, _, err := gateway.Readiness()
		if err != nil {
			return err
		}
		if o.scenario.Readyz != 0 && o.scenario.Readyz != status {
			return fmt.Errorf("/readyz answers %d on one replica and %d on another", o.scenario.Readyz, status)
		}
		o.scenario.Readyz = status
	}
	return nil
}

// recover waits until each replica has had an answer from the new Redis.
func (o *outage) recover(ctx context.Context) error {
	var first []time.Duration
	err := stage.Await(ctx, "an answer from the new Redis on every replica", func() bool {
		first = tally.FirstAnswers(o.load.Samples(), o.timeline.Start, o.report.Replicas)
		return len(first) == o.report.Replicas
	})
	if err != nil {
		return err
	}
	o.timeline.Recovered = first[len(first)-1]
	o.scenario.First, o.scenario.Last = first[0]-o.timeline.Start, o.timeline.Recovered-o.timeline.Start
	return nil
}

// count turns what the load saw into figures.
func (o *outage) count() {
	samples := o.load.Stop()
	// What was under way at the end belongs to the whole run.
	o.timeline.End = o.load.Now()
	o.scenario.Phases = tally.Summarize(samples, o.timeline, o.report.Window, o.report.Replicas)
}
