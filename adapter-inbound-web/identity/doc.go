// Package identity says who is limited: the client's address, found through the
// proxies that are trusted, a name that a trusted proxy puts in a header, or the
// tenant, user and key that such a proxy or the service itself has authenticated.
//
// The one rule that matters: nothing that a request says about its sender counts
// unless the peer at the other end of the connection is trusted, and nobody is
// trusted by default. What does not count is also kept from the handlers behind.
//
// Read proxies.go first, then resolver.go and principal.go.
package identity
