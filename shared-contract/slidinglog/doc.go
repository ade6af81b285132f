// Package slidinglog is the arithmetic, the verdict and the errors of the
// inbound-web limiter's sliding-window log: all that its Redis and its local
// implementation share.
//
// The one rule that matters: a request counts for exactly one window, and one
// that either layer denies is counted by neither.
//
// Read call.go for the rule, then check.go for what every implementation refuses.
// Package slidinglogtest holds an implementation against both.
package slidinglog
