// Package ratelimit is the vocabulary of edge rate limiting: the port that
// decides, the policy it decides by, the request it decides about, and the
// outcome it answers with. It names no provider and imports only the standard
// library.
//
// The one rule that matters: a failure is neither an allow nor a denial. An
// [Outcome] that is not Evaluated has no Decision to read, its zero value
// denies, and [Match] does not compile with an arm missing.
//
// Read port.go first, then policy.go and outcome.go. The arithmetic of the
// three algorithms is in the sibling package model.
package ratelimit
