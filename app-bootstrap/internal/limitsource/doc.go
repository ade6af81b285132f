// Package limitsource looks up the limits that a service keeps for each tenant, over
// HTTP, and keeps what it learnt in a cache that replicas share.
//
// The one rule that matters: no request fails for a source or a cache that is slow,
// dead or lying, none waits for longer than the timeout, and none at all for a tenant
// that this process knows. What was learnt once stays in force until something better
// is learnt; who was never learnt of has the configured limits.
//
// Read source.go first: what a lookup does. document.go is what the service says,
// fetch.go how it is asked, refresh.go how replicas share the asking, memos.go what a
// process knows.
package limitsource
