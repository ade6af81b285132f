// Package server gives the lane's tests their Redis, from whichever of three sources the environment names: an image
// that testcontainers starts, a redis-server or valkey-server binary, or one server that runs already.
//
// The one rule that matters: there is no fourth source. Without a server a test fails and says how to get one; it is
// never skipped.
//
// Read [Find] for the variables, [Start] for a server of a test's own, and [Shared] for what any server can be asked.
package server
