// Package answer turns an outcome into an HTTP answer. The whole table is in
// answer.go for the edge port and in log.go for the inbound-web limiter, and
// everything that answers uses it.
//
// The one rule that matters: only an outcome that allows becomes a 200. Headers
// and bodies are computed from the outcome alone, without a clock, and nothing of
// a failure's cause is in them.
//
// problem.go has the bodies (RFC 9457), headers.go the header fields.
package answer
