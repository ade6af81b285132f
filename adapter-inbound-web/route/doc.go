// Package route says what a request is charged: which policy decides about it,
// and at which cost.
//
// The one rule that matters: every request has a policy. The first rule that
// matches names it, and what no rule matches gets the default policy at cost 1.
//
// Read table.go for the rules, path.go for what a path is.
package route
