package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/edgelimit/edgelimit/scripts/drill/internal/report"
	"github.com/edgelimit/edgelimit/scripts/drill/internal/stage"
)

// The two forms. The load is several times the limit for each replica alone.
var (
	full  = report.Report{Form: report.Full, Replicas: 2, Window: 4 * time.Second, Limit: 300, Rate: 600, Timeout: time.Second}
	quick = report.Report{Form: report.Short, Replicas: 2, Window: time.Second, Limit: 60, Rate: 480, Timeout: time.Second}
)

// policies are what is drilled.
var policies = []report.Scenario{
	{Policy: report.LocalFallback, Replicas: 1},
	{Policy: report.LocalFallback, Replicas: 2},
	{Policy: report.FailClosed, Replicas: 1},
}

// drill is what all scenarios share.
type drill struct {
	program, redis, folder string
	longer                 int // windows that each phase takes beyond the least
}

// play drills the policies whose name contains only, one after the other.
func (d drill) play(ctx context.Context, r *report.Report, only string) error {
	for _, policy := range policies {
		if !strings.Contains(policy.Name(), only) {
			continue
		}
		fmt.Fprintln(os.Stderr, "drill:", policy.Name())
		played, err := d.scenario(ctx, r, policy)
		if err != nil {
			return fmt.Errorf("%s: %w", policy.Name(), err)
		}
		r.Scenarios = append(r.Scenarios, played)
	}
	if len(r.Scenarios) == 0 {
		return fmt.Errorf("no policy has %q in its name", only)
	}
	return nil
}

// scenario is one outage, from a Redis of its own to the end of the gateways.
func (d drill) scenario(ctx context.Context, r *report.Report, s report.Scenario) (report.Scenario, error) {
	redis, err := stage.NewRedis(ctx, d.redis, d.folder)
	if err != nil {
		return s, err
	}
	defer redis.Kill()
	if r.Redis, err = redis.Version(); err != nil {
		return s, err
	}
	upstream, err := stage.NewUpstream()
	if err != nil {
		return s, err
	}
	defer upstream.Close()
	o := outage{report: *r, scenario: s, redis: redis, longer: time.Duration(d.longer) * r.Window}
	secret := rand.Text() + rand.Text()
	var urls []string
	for i := range r.Replicas {
		folder := filepath.Join(d.folder, strconv.Itoa(i))
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return s, err
		}
		gateway, err := stage.NewGateway(ctx, d.program, folder, stage.Setting{
			Upstream: upstream.URL(), Redis: redis.Addr(), Window: r.Window, Limit: r.Limit,
			Policy: s.Policy, Replicas: s.Replicas, Timeout: r.Timeout, Secret: secret,
		})
		if err != nil {
			return s, err
		}
		defer gateway.Kill()
		o.gateways = append(o.gateways, gateway)
		urls = append(urls, gateway.URL())
	}
	o.load = stage.NewLoad(urls, r.Rate)
	defer o.load.Stop()
	if err := o.run(ctx); err != nil {
		return s, err
	}
	o.count()
	s = o.scenario
	s.Upstream = upstream.Seen()
	for _, gateway := range o.gateways {
		counted, err := gateway.Metric(counter(s))
		if err = errors.Join(err, gateway.Stop()); err != nil {
			return s, err
		}
		s.Counted += counted
	}
	return s, nil
}

// counter is the metric by which a gateway counts what Redis did not decide.
func counter(s report.Scenario) string {
	if s.Policy == report.FailClosed {
		return "edgelimit_inbound_failures_total"
	}
	return "edgelimit_inbound_fallbacks_total"
}
