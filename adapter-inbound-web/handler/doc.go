// Package handler has the decision endpoints, for services and proxies that ask
// about a request instead of sending it through, and the guard of the listener
// that they are on.
//
// The one rule that matters: evaluate believes its caller, who is let in by the
// guard; authorize believes a description of another request only from a trusted
// peer, and judges anybody else as itself.
//
// Read handler.go for the paths, evaluate.go and authorize.go for the endpoints,
// admin.go for the guard.
package handler
