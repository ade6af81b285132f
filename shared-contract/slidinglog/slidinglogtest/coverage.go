package slidinglogtest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// Coverage counts what a walk has come through. The zero Coverage has counted
// nothing. It is not safe for concurrent use.
type Coverage struct {
	steps  int
	counts [numFeatures]int
}

// Passed is one call of a walk, as Coverage counts it.
type Passed struct {
	Dual    bool // of two layers
	Held    bool // a log held a call that is newer than the clock
	Verdict slidinglog.Verdict
	Err     error
}

// feature is something that a walk must come through often.
type feature int

const (
	allowedSingle feature = iota
	allowedDual
	deniedSingle
	deniedByOuter
	deniedByInner
	deniedByBoth
	allowedHeld
	deniedHeld
	clockUnsafe
	numFeatures
)

var featureNames = [numFeatures]string{
	allowedSingle: "one layer, allowed",
	allowedDual:   "two layers, allowed",
	deniedSingle:  "one layer, denied",
	deniedByOuter: "two layers, denied by the outer alone",
	deniedByInner: "two layers, denied by the inner alone",
	deniedByBoth:  "two layers, denied by both",
	allowedHeld:   "allowed by a clock that had stepped back",
	deniedHeld:    "denied by a clock that had stepped back",
	clockUnsafe:   "a clock that had stepped back too far",
}

// Count adds one call. A call with an error other than ErrClockUnsafe counts as a
// step alone.
func (c *Coverage) Count(p Passed) {
	c.steps++
	switch {
	case errors.Is(p.Err, slidinglog.ErrClockUnsafe):
		c.counts[clockUnsafe]++
		return
	case p.Err != nil:
		return
	}
	c.counts[verdictFeature(p)]++
	switch {
	case p.Held && p.Verdict.Allowed:
		c.counts[allowedHeld]++
	case p.Held:
		c.counts[deniedHeld]++
	}
}

// verdictFeature tells who denied: a layer with nothing left.
func verdictFeature(p Passed) feature {
	v := p.Verdict
	switch {
	case v.Allowed && p.Dual:
		return allowedDual
	case v.Allowed:
		return allowedSingle
	case !p.Dual:
		return deniedSingle
	case v.Inner.Remaining > 0:
		return deniedByOuter
	case v.Outer.Remaining > 0:
		return deniedByInner
	default:
		return deniedByBoth
	}
}

// Report is a table of all counts, a line each.
func (c *Coverage) Report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%8d steps\n", c.steps)
	for f, name := range featureNames {
		fmt.Fprintf(&b, "%8d %s\n", c.counts[f], name)
	}
	return b.String()
}

// Check says what was come through fewer than least times.
func (c *Coverage) Check(least int) error {
	var errs []error
	for f, name := range featureNames {
		if c.counts[f] < least {
			errs = append(errs, fmt.Errorf("%s: %d times, want at least %d", name, c.counts[f], least))
		}
	}
	return errors.Join(errs...)
}
