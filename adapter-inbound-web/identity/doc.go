// Package identity says who is limited: the client's address, found through the
// proxies that are trusted, or a name that a trusted proxy puts in a header.
//
// The one rule that matters: nothing that a request says about its sender counts
// unless the peer at the other end of the connection is trusted, and nobody is
// trusted by default. What does not count is also kept from the handlers behind.
//
// Read proxies.go first, then resolver.go.
package identity
