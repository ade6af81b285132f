package race

import "slices"

// Figures are what a contender did in a slice, or the median of that over rounds.
type Figures struct {
	PerSecond float64 // without those that were wrong
	P50, P99  float64 // milliseconds
	Allocs    float64 // per decision, in the process of the callers
	CPU       float64 // microseconds of the Redis process, per decision
	Commands  float64 // run by Redis, those within scripts included, per decision
	Trips     float64 // reads of sockets by Redis, per decision
	Scripts   float64 // microseconds of Redis within scripts, per decision
	Given     float64 // of these, within the commands that scripts gave
}

// median is the median of each figure by itself.
func median(laps []Figures) Figures {
	middle := func(figure func(Figures) float64) float64 {
		values := make([]float64, len(laps))
		for i, lap := range laps {
			values[i] = figure(lap)
		}
		return Median(values)
	}
	return Figures{
		PerSecond: middle(func(f Figures) float64 { return f.PerSecond }),
		P50:       middle(func(f Figures) float64 { return f.P50 }),
		P99:       middle(func(f Figures) float64 { return f.P99 }),
		Allocs:    middle(func(f Figures) float64 { return f.Allocs }),
		CPU:       middle(func(f Figures) float64 { return f.CPU }),
		Commands:  middle(func(f Figures) float64 { return f.Commands }),
		Trips:     middle(func(f Figures) float64 { return f.Trips }),
		Scripts:   middle(func(f Figures) float64 { return f.Scripts }),
		Given:     middle(func(f Figures) float64 { return f.Given }),
	}
}

// Median is the middle value, or the mean of the two middle ones; 0 of none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}
