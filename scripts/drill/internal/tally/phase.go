package tally

import (
	"slices"
	"time"
)

// Timeline says when Redis went and came, since the beginning of the run.
type Timeline struct {
	Kill      time.Duration // the last instant before the signal
	Gone      time.Duration // its process is reaped
	Start     time.Duration // the last instant before it is started again
	Recovered time.Duration // by now each replica has had an answer from it
	End       time.Duration
}

// The phases in the order of Summarize.
const (
	Before = iota
	AroundKill
	Outage
	AroundReturn
	After
	Whole
	phases
)

// Names are the phases in words. Those around an event reach one window to both
// sides of it, and so overlap their neighbours.
var Names = [phases]string{"before", "around the kill", "outage", "around the return", "after", "whole run"}

// Figures are what was counted in one phase.
type Figures struct {
	Length time.Duration // whole tenths of a second

	Requests, Admitted, Denied, Refused, Failed int

	Local int // of all requests, those that a replica decided alone

	// Typical is what was admitted in a window, the median of disjoint ones; -1 in a
	// phase shorter than one, and in those that are of several phases.
	Typical int

	// The most that was admitted in any window; of it what Redis, and what one
	// replica alone, decided, each by its own fullest window.
	Worst, WorstByRedis, WorstByReplica int

	// The time to the answer, in whole hundredths of a millisecond.
	P50, P99, Slowest time.Duration
}

// margin is what a window is shortened by before requests in it are counted: the
// clocks of client, Redis and replicas may be rounded and slewed by as much.
const margin = time.Millisecond

// Summarize counts each phase of a run on so many replicas.
func Summarize(samples []Sample, t Timeline, window time.Duration, replicas int) [phases]Figures {
	spans := [phases][2]time.Duration{
		Before:       {0, t.Kill},
		AroundKill:   {max(t.Kill-window, 0), t.Gone + window},
		Outage:       {t.Gone, t.Start},
		AroundReturn: {max(t.Start-window, 0), t.Recovered + window},
		After:        {t.Recovered, t.End},
		Whole:        {0, t.End},
	}
	var all [phases]Figures
	for i, span := range spans {
		all[i] = figures(Within(samples, span[0], span[1]), span[0], span[1], window, replicas)
		if i == AroundKill || i == AroundReturn || i == Whole {
			all[i].Typical = -1
		}
	}
	return all
}

func figures(samples []Sample, from, to, window time.Duration, replicas int) Figures {
	count := func(keep func(Sample) bool) int { return len(Pick(samples, keep)) }
	admitted := Pick(samples, func(s Sample) bool { return s.Result == Admitted })
	f := Figures{
		Length:   (to - from).Round(100 * time.Millisecond),
		Requests: len(samples),
		Admitted: len(admitted),
		Denied:   count(func(s Sample) bool { return s.Result == Denied }),
		Refused:  count(func(s Sample) bool { return s.Result == Refused }),
		Failed:   count(func(s Sample) bool { return s.Result == Failed }),
		Local:    count(func(s Sample) bool { return s.Local }),
		Typical:  Typical(admitted, from, to, window),
		P50:      Latency(samples, 50).Round(10 * time.Microsecond),
		P99:      Latency(samples, 99).Round(10 * time.Microsecond),
		Slowest:  Latency(samples, 100).Round(10 * time.Microsecond),
	}
	f.Worst = Worst(admitted, window)
	f.WorstByRedis = Worst(Pick(admitted, func(s Sample) bool { return !s.Local }), window)
	for r := range replicas {
		alone := Worst(Pick(admitted, func(s Sample) bool { return s.Local && s.Replica == r }), window)
		f.WorstByReplica = max(f.WorstByReplica, alone)
	}
	return f
}

// Worst is the most that any window is proven to hold, clocks doubted.
func Worst(samples []Sample, window time.Duration) int { return Most(samples, window-margin) }

// FirstAnswers are the ends of the first answer that each replica had from Redis to
// a request that began at from or later, the soonest first. A replica without one
// is left out.
func FirstAnswers(samples []Sample, from time.Duration, replicas int) []time.Duration {
	var ends []time.Duration
	for r := range replicas {
		first := time.Duration(-1)
		for _, s := range samples {
			answered := s.Replica == r && s.Begun >= from && !s.Degraded() && s.Result != Failed
			if answered && (first < 0 || s.Ended < first) {
				first = s.Ended
			}
		}
		if first >= 0 {
			ends = append(ends, first)
		}
	}
	slices.Sort(ends)
	return ends
}
