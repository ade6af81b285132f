// Package middleware puts a limiter in front of any http.Handler: the edge port
// by [Edge], the limiter of tenants and users by [RateLimitMiddleware]. With both,
// Edge stands outside.
//
// The one rule that matters: the handler behind runs only for a request that every
// limiter allowed and charged, once, at its start, and the limiters' header fields
// on its response are their own.
//
// Read edge.go, ratelimit.go and told.go for the order of things, writer.go for how
// the headers survive streaming, informational responses and upgrades.
package middleware
