//go:build soak

package e2e_test

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"
)

// page is what the run showed, for docs/evidence.
func (s *soak) page() string {
	s.Helper()
	var b strings.Builder
	all := s.heard()
	ran := s.gateways[0].cold.at
	fmt.Fprintf(&b, `# The soak

Written by `+"`make soak`"+` and by nobody else. Two gateways, each with the edge port and the inbound-web limiter on, share one Redis,
each over a link that fails on command: one has `+"`local-fallback`"+`, one `+"`fail-closed`"+`. %d clients keep about %d requests a second
going to both, of every kind: hot subjects and ones that nobody saw before, tenants that are over their limit, clients who leave,
questions to the decision endpoints, malformed ones, scrapes. Meanwhile one fault after the other strikes, each mended before the
next. After the first rota of faults, and at the end, everybody else is still: these two rests are compared.

| the run |  |
|---|---|
| date | %s |
| length | %v |
| seed | %d |
| Redis | %s |
| machine | %s/%s, %d CPUs, %s |
| faults | %d, one every %v |
| times that Redis lost what it knew | %d |
| requests | %d, %.0f a second |
| worst pause of the machine, ms | %.0f |
`, soakClients, soakRate, time.Now().UTC().Format("2006-01-02 15:04 UTC"), ran.Round(time.Second), s.seed, s.redis(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
		runtime.Version(), len(s.strikes), s.beat.Round(time.Millisecond), s.lost, all.all(), float64(all.all())/ran.Seconds(), millis(s.noise.worst))
	for _, g := range s.gateways {
		s.pageOf(&b, g)
	}
	s.pageOfFaults(&b)
	s.pageOfChecks(&b)
	return b.String()
}

func (s *soak) redis() string {
	info, _ := s.server.Do(s.T, "INFO", "server").(string)
	return printed(s, info, `redis_version:(\S+)`)
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// pageOf is one gateway from beginning to end.
func (s *soak) pageOf(b *strings.Builder, g *soaked) {
	steady := g.steady()
	middle := steady[len(steady)/2]
	fmt.Fprintf(b, "\n## %s\n\n|  | rest after the first rota | middle, under load | rest at the end | most | slope a minute |\n|---|--:|--:|--:|--:|--:|\n", g.name)
	for _, row := range figures {
		most := row.of(slices.MaxFunc(g.samples, func(a, b sample) int { return cmp.Compare(row.of(a), row.of(b)) }))
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %+.2f |\n", row.name, figure(row.of(g.warm.sample)), figure(row.of(middle)),
			figure(row.of(g.cold.sample)), figure(most), slope(steady, row.of))
	}
	h := g.book.heard
	fmt.Fprintf(b, "\n%d requests: %d allowed, %d denied, %d without a decision (503), %d refused as malformed, %d whose client had left. %d answers took longer than %v, the slowest %.0f ms. %d answers were the local fallback's.\n",
		h.all(), h.allowed, h.denied, h.failed, h.refused, h.gone, g.book.late, answerBudget, millis(g.book.slowest), g.book.local)
	if added := g.newSeries(); len(added) > 0 {
		fmt.Fprintf(b, "\nSeries that the first rota had not shown: `%s`.\n", strings.Join(added, "`, `"))
	}
}

func figure(value float64) string {
	if value == float64(int64(value)) {
		return fmt.Sprint(int64(value))
	}
	return fmt.Sprintf("%.1f", value)
}

func (s *soak) pageOfFaults(b *strings.Builder) {
	fmt.Fprintf(b, `
## The faults

A fault lasts %v and has the rest of its beat to be got over. What clients were told from its beginning to the next one, by both gateways.
Commands have %v, as by default, so a pause of the machine costs answers too:

| fault | times | allowed | denied | 503 | refused | left |
|---|--:|--:|--:|--:|--:|--:|
`, min(longestHold, s.beat/2).Round(time.Millisecond), commandTimeout)
	for _, f := range rota {
		times := 0
		for _, strike := range s.strikes {
			if strike.name == f.name {
				times++
			}
		}
		h := s.during(f.name)
		fmt.Fprintf(b, "| %s | %d | %d | %d | %d | %d | %d |\n", f.name, times, h.allowed, h.denied, h.failed, h.refused, h.gone)
	}
}

func (s *soak) pageOfChecks(b *strings.Builder) {
	var passed, hot int64
	for _, g := range s.gateways {
		passed, hot = passed+g.book.passed, hot+g.book.hot
	}
	fmt.Fprintf(b, `
## What was checked

The soak fails, and writes no page, unless all of this holds.

- Every request but those whose client left had an answer: 200, 429 with `+"`Retry-After`"+` unless the limit is 0, 503 with it unless the
  outcome is incompatible, or the 4xx that its mistake is due; within %v and the machine's worst pause.
- By policy, the metrics say what the clients heard: denied exactly, allowed and failed together exactly; the inbound-web limiter's
  denials, fallbacks and failures within the number of clients who may have left.
- The upstream saw what was answered 200 and nothing else: %d of %d, those of clients who may leave apart.
- The one hot subject was admitted %d times, at most %d: its bucket once for each history of Redis, and what came back.
- Of up to %d keys, looked at %d times, every one had an end, at most %d ms away, and none named a subject. No label and no line of log does.
- From rest to rest: at most %d goroutines, %d descriptors and %d series more; what lives on the heap by less than %.0f %% and %.0f MiB;
  resident memory by less than %.0f MiB. Never more connections to Redis than the two limiters may have.
- From %.0f %% of the run on, resident memory and heap rise by less than %.0f MiB a minute, goroutines and descriptors by less than %.0f.
- Every fault that can cost an answer cost some, and after each there was service again.
- SIGTERM ends both processes with 0.
`, answerBudget+answerSlack, s.behind.seen.Load(), passed, hot, s.hotBound(), s.keys.most, s.keys.looks, s.keys.longest,
		moreGoroutines, moreFiles, moreSeries, 100*(heapGrowth-1), heapSlack, rssGrowth, 100*warmUp, steepest, steepestCount)
}
