package tally

import (
	"cmp"
	"slices"
	"time"
)

// Sample is one request as its client saw it. Its times are since the beginning of
// the run, by the monotonic clock.
type Sample struct {
	Replica      int
	Begun, Ended time.Duration
	Result       Result
	Local        bool // decided by the replica alone
}

// Result is what became of a request.
type Result int

// The results. Failed is any other status, or no answer.
const (
	Failed Result = iota
	Admitted
	Denied  // 429
	Refused // 503
)

// Degraded tells whether Redis did not decide.
func (s Sample) Degraded() bool { return s.Local || s.Result == Refused }

// Within are the samples that begin at from or later and end at to or sooner.
func Within(samples []Sample, from, to time.Duration) []Sample {
	return Pick(samples, func(s Sample) bool { return s.Begun >= from && s.Ended <= to })
}

// Pick are the samples for which keep holds, in their order.
func Pick(samples []Sample, keep func(Sample) bool) []Sample {
	var kept []Sample
	for _, s := range samples {
		if keep(s) {
			kept = append(kept, s)
		}
	}
	return kept
}

// Most is how many of the samples the fullest interval holds whole that is shorter
// than length.
func Most(samples []Sample, length time.Duration) int {
	ordered := slices.SortedFunc(slices.Values(samples), func(a, b Sample) int { return cmp.Compare(a.Begun, b.Begun) })
	most := 0
	for i, first := range ordered {
		end, held := first.Begun+length, 0
		for _, s := range ordered[i:] {
			if s.Begun >= end {
				break
			}
			if s.Ended < end {
				held++
			}
		}
		most = max(most, held)
	}
	return most
}

// Typical is the median of how many samples end in each of the whole windows that
// follow each other from from to to, the lower one of two; -1 if there is no whole
// window.
func Typical(samples []Sample, from, to, length time.Duration) int {
	counts := make([]int, (to-from)/length)
	if len(counts) == 0 {
		return -1
	}
	for _, s := range samples {
		if n := (s.Ended - from) / length; s.Ended >= from && int(n) < len(counts) {
			counts[n]++
		}
	}
	slices.Sort(counts)
	return counts[(len(counts)-1)/2]
}

// Latency is the time that percent of the samples did not exceed; 0 of none.
func Latency(samples []Sample, percent int) time.Duration {
	if len(samples) == 0 {
		return 0
	}
	took := make([]time.Duration, len(samples))
	for i, s := range samples {
		took[i] = s.Ended - s.Begun
	}
	slices.Sort(took)
	rank := (len(took)*percent + 99) / 100
	return took[max(rank, 1)-1]
}
