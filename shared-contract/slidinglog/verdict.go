package slidinglog

import "time"

// Layer is what one layer says of itself after a call.
type Layer struct {
	Remaining int // calls left, 0 to the layer's limit

	// ResetAfter is the time until the newest counted call stops counting; 0
	// for an empty log.
	ResetAfter time.Duration
}

// Verdict is the answer to one call. The zero Verdict denies. Durations count
// from the clock of the log and are whole milliseconds, rounded up.
type Verdict struct {
	Allowed bool

	// RetryAfter is 0 when allowed. When denied, with no other traffic, a call is
	// allowed after this time and not a millisecond sooner; of a layer with limit
	// 0, which never allows, it says one window.
	RetryAfter time.Duration

	Outer Layer // the tenant, or the only layer
	Inner Layer // the user or key; zero in a call of one layer
}
