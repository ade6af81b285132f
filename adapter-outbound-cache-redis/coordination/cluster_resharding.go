package coordination

import "sync/atomic"

// Resharding says how many calls the moves of slots from node to node affect. What
// these answers refuse ran nothing.
type Resharding struct {
	Calls   int64 // all calls
	Met     int64 // of them, those that were answered TRYAGAIN at least once
	Refused int64 // of those, the ones whose time ended before their keys were together
}

// reshardingCounts are the figures of a Resharding as they grow.
type reshardingCounts struct{ calls, met, refused atomic.Int64 }

// stats reads the parts before the whole, so that no share is above 1.
func (c *reshardingCounts) stats() Resharding {
	var r Resharding
	r.Refused = c.refused.Load()
	r.Met = c.met.Load()
	r.Calls = c.calls.Load()
	return r
}
