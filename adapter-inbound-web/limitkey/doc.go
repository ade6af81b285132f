// Package limitkey builds the keys of the inbound-web limiter: one for a tenant,
// and beside it one for a user or an API key's id, or one for the address of a
// client that nobody knows.
//
//	rl:{tenant}                a tenant
//	rl:{tenant}:user:<user>    a user of it
//	rl:{tenant}:key:<keyID>    a key of it
//	rl:anon:<digest>           an address
//
// The one rule that matters: no two principals share a key, whatever their ids
// hold, and the keys of one tenant share one hash tag, so that a Redis Cluster
// keeps them in one slot. Ids stay readable, in percent-encoding; addresses do not.
package limitkey
