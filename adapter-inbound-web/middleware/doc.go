// Package middleware puts the edge port in front of any http.Handler.
//
// The one rule that matters: the handler behind runs only for a request that was
// allowed and charged, once, at its start, and the limiter's header fields on its
// response are the limiter's own.
//
// Read edge.go for the order of things, writer.go for how the headers survive
// streaming, informational responses and upgrades.
package middleware
