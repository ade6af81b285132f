// Package slidinglogtest holds an implementation of the sliding-window log, of one
// layer and of two, against what every implementation promises.
//
// The one rule that matters: the suites are exact. The clock is the harness's and
// stands still between steps, so no number has a tolerance.
//
// Read harness.go first, then scenarios.go: the table of what is promised.
package slidinglogtest
