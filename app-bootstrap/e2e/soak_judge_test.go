//go:build soak

package e2e_test

import (
	"slices"
	"strings"
	"time"
)

// What is held to be flat.
const (
	moreGoroutines = 3 // at rest, than after the first rota
	moreFiles      = 3
	moreSeries     = 15    // of causes that the first rota happened not to meet
	heapGrowth     = 1.1   // of what lives at rest
	heapSlack      = 1.0   // MiB beside that
	rssGrowth      = 16.0  // MiB, from rest to rest
	steepest       = 1.0   // MiB a minute, in a run of full length
	steepestCount  = 3.0   // goroutines or descriptors a minute under load, likewise: they differ by fault
	warmUp         = 0.3   // of the run: where slopes begin
	inboundPlaces  = 128   // connections of the inbound-web limiter at most
	monitors       = 2 * 2 // connections that watch, one for each limiter, and one being replaced

	// From the first byte to the whole answer, on a machine that does not pause: the edge
	// port, the inbound-web limiter, the upstream.
	answerBudget = admissionWait + 2*commandTimeout + upstreamTime
	answerSlack  = 2 * time.Second // for a request that waits for the processor at every step
	longestState = 8 * time.Second // of any key: two windows and the grace
)

func (s *soak) judge() {
	s.Helper()
	var passed, hot int64
	for _, g := range s.gateways {
		for what, times := range g.book.wrong {
			s.check(false, "%s: %d times: %s", g.name, times, what)
		}
		limit := answerBudget + answerSlack + s.noise.worst
		s.check(g.book.slowest <= limit, "%s: an answer took %v, want at most %v; the machine paused for up to %v",
			g.name, g.book.slowest, limit, s.noise.worst)
		g.compare(s, g.cold.shown)
		s.judgeRest(g)
		if *soakFor >= fullLength {
			s.judgeSlopes(g)
		}
		passed, hot = passed+g.book.passed, hot+g.book.hot
	}
	s.check(s.behind.seen.Load() == passed, "the upstream saw %d requests, and %d were answered 200", s.behind.seen.Load(), passed)
	most := s.hotBound()
	s.check(hot <= most && hot > hotCapacity, "the hot subject was admitted %d times, want %d to %d", hot, hotCapacity, most)
	s.check(s.keys.immortal == 0, "%d keys had no end", s.keys.immortal)
	s.check(s.keys.named == 0, "%d keys named a subject", s.keys.named)
	s.check(s.keys.longest <= longestState.Milliseconds(), "a key had %d ms to live, want at most %v", s.keys.longest, longestState)
	for _, f := range rota {
		h := s.during(f.name)
		s.check(!f.bites || h.failed > 0, "%q cost nobody an answer: it did not happen", f.name)
		s.check(h.allowed > 0, "nobody was served in a beat of %q", f.name)
	}
}

// hotBound is what the bucket of the hot subject may let through: its capacity once
// for each history of Redis, and what came back since.
func (s *soak) hotBound() int64 {
	return hotCapacity*(1+s.lost) + int64(hotRefill*(s.gateways[0].cold.at.Seconds()+1))
}

// during adds up what was heard in the beats of one kind.
func (s *soak) during(name string) (all heard) {
	for _, strike := range s.strikes {
		if strike.name == name {
			all = all.plus(strike.heard)
		}
	}
	return all
}

// judgeRest compares the two rests.
func (s *soak) judgeRest(g *soaked) {
	s.Helper()
	warm, cold := g.warm, g.cold
	s.check(cold.goroutines <= warm.goroutines+moreGoroutines, "%s: %d goroutines at rest, beside those of connections to Redis, and %d after the first rota", g.name, cold.goroutines, warm.goroutines)
	s.check(cold.fds <= warm.fds+moreFiles, "%s: %d open descriptors at rest, and %d after the first rota", g.name, cold.fds, warm.fds)
	s.check(cold.heap <= warm.heap*heapGrowth+heapSlack, "%s: %.1f MiB live at rest, and %.1f after the first rota", g.name, cold.heap, warm.heap)
	s.check(cold.rss <= warm.rss+rssGrowth, "%s: %.1f MiB resident at rest, and %.1f after the first rota", g.name, cold.rss, warm.rss)
	for _, sample := range g.samples {
		if sample.connections > edgeInFlight+inboundPlaces+monitors {
			s.Errorf("%s: %d connections to Redis at %v", g.name, sample.connections, sample.at)
		}
	}
	added := g.newSeries()
	s.check(len(added) <= moreSeries, "%s: %d series that the first rota had not shown: %q", g.name, len(added), added[:min(len(added), 20)])
	for name := range cold.shown {
		s.check(!strings.Contains(name, "planted") && !strings.Contains(name, "203.0.113."), "%s: a label names somebody: %s", g.name, name)
	}
}

// newSeries are those that came after the first rota.
func (g *soaked) newSeries() (added []string) {
	for name := range g.cold.shown {
		if _, before := g.warm.shown[name]; !before {
			added = append(added, name)
		}
	}
	slices.Sort(added)
	return added
}

// steady are the samples under load after the run has warmed up.
func (g *soaked) steady() []sample {
	from := time.Duration(float64(*soakFor) * warmUp)
	first := slices.IndexFunc(g.samples, func(s sample) bool { return s.at >= from })
	last := slices.IndexFunc(g.samples, func(s sample) bool { return s.at >= g.cold.at-quietTime })
	if last < 0 {
		last = len(g.samples)
	}
	return g.samples[first:last]
}

func (s *soak) judgeSlopes(g *soaked) {
	s.Helper()
	for _, row := range figures {
		rises := slope(g.steady(), row.of)
		s.check(row.steepest == 0 || rises < row.steepest, "%s: %s rises by %.2f a minute, want less than %.2f", g.name, row.name, rises, row.steepest)
	}
}

// figures are what is sampled and may have a slope.
var figures = []struct {
	name     string
	of       func(sample) float64
	steepest float64 // a minute; 0 is any
}{
	{"goroutines, without Redis", func(s sample) float64 { return float64(s.goroutines) }, steepestCount},
	{"descriptors, without Redis", func(s sample) float64 { return float64(s.fds) }, steepestCount},
	{"connections to Redis", func(s sample) float64 { return float64(s.connections) }, 0},
	{"resident memory, MiB", func(s sample) float64 { return s.rss }, steepest},
	{"heap, MiB", func(s sample) float64 { return s.heap }, steepest},
	{"metric series", func(s sample) float64 { return float64(s.series) }, 0},
}

// judgeLog looks for what no log may say, and that it says little.
func (s *soak) judgeLog(g *soaked) {
	s.Helper()
	log := g.stderr.String()
	for _, secret := range []string{"planted", "203.0.113.", hmacSecret} {
		s.check(!strings.Contains(log, secret), "%s: its log says %s", g.name, secret)
	}
	const each = 20 // lines for a fault
	lines := strings.Count(log, "\n")
	s.check(lines <= each*(len(s.strikes)+1), "%s: %d lines of log for %d faults", g.name, lines, len(s.strikes))
}
