// Package limiter has the two interfaces of the inbound-web limiter, its
// implementation in this process, and a scripted one for tests.
//
// The one rule that matters: an error is neither an allow nor a denial. A caller
// that cannot tell what to do with one must not let the request through.
//
// Read limiter.go first, then local.go. Package limitkey builds the keys, package
// slidinglog of the shared contract has the errors and the rule of the log.
package limiter
