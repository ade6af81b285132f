// Package redislimit is the Redis provider of the edge port. One evaluation is
// five steps: find the policy, build the key, dispatch the program once, read
// the reply, say what it proves.
//
// The one rule that matters: an evaluation is one dispatch. Nothing here or
// below repeats a command that may have been charged.
//
// Open is all that a service needs. The parts are in coordination (connection,
// admission, breaker, health) and internal (keys, programs, replies, certainty).
package redislimit
