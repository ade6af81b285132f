// Package contracttest is for those who implement the edge port and for those
// who call it.
//
// An author of a provider runs [Run], which holds any EdgeRateLimitPort against
// the contract, and [RunFaults], which holds it against the promises about
// failures over a rig that loses, halves and garbles replies. A caller tests
// with [Scripted], a port that answers what it is told to. An author of another
// reading of the algorithms walks it beside the model with [Walk] and shows by
// [Coverage] what the walk has seen.
//
// The one rule that matters: the suites are exact. No count has a tolerance,
// and a check during which the provider's clock crossed a window's end is made
// again, never loosened.
//
// Read run.go first, then faults.go.
package contracttest
