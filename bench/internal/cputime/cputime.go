package cputime

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/google/pprof/profile"
)

// Profile is CPU time, in all and split in three ways.
type Profile struct {
	Samples int64 // how many it is made of
	Total   time.Duration
	Parts   map[Part]time.Duration   // the whole of it
	Flat    map[string]time.Duration // by the function that ran
	Own     map[string]time.Duration // by every function of this repository on the stack
}

// Sample profiles this process while run runs.
func Sample(run func()) (Profile, error) {
	var taken bytes.Buffer
	if err := pprof.StartCPUProfile(&taken); err != nil {
		return Profile{}, err
	}
	run()
	pprof.StopCPUProfile()
	parsed, err := profile.Parse(&taken)
	if err != nil {
		return Profile{}, fmt.Errorf("read the CPU profile: %w", err)
	}
	return of(parsed)
}

// The two values of each sample of a CPU profile: how many there were, and their time.
const (
	samples     = 0
	nanoseconds = 1
)

func of(taken *profile.Profile) (Profile, error) {
	if len(taken.SampleType) <= nanoseconds || taken.SampleType[nanoseconds].Unit != "nanoseconds" {
		return Profile{}, fmt.Errorf("a CPU profile of %v, want nanoseconds", taken.SampleType)
	}
	p := Profile{Parts: map[Part]time.Duration{}, Flat: map[string]time.Duration{}, Own: map[string]time.Duration{}}
	for _, s := range taken.Sample {
		spent, stack := time.Duration(s.Value[nanoseconds]), stackOf(s)
		if len(stack) == 0 {
			continue
		}
		p.Samples += s.Value[samples]
		p.Total += spent
		p.Parts[PartOf(stack)] += spent
		p.Flat[shortened(stack[0])] += spent
		seen := map[string]bool{}
		for _, name := range stack {
			if short, own := ownName(name); own && !seen[short] {
				seen[short] = true
				p.Own[short] += spent
			}
		}
	}
	return p, nil
}

// stackOf is the names of the functions, the one that ran first.
func stackOf(s *profile.Sample) []string {
	var stack []string
	for _, location := range s.Location {
		for _, line := range location.Line {
			if line.Function != nil {
				stack = append(stack, line.Function.Name)
			}
		}
	}
	return stack
}

// Top are the n names with the most time, the most first.
func Top(times map[string]time.Duration, n int) []string {
	names := slices.SortedFunc(maps.Keys(times), func(a, b string) int {
		return cmp.Or(cmp.Compare(times[b], times[a]), cmp.Compare(a, b))
	})
	return names[:min(n, len(names))]
}
