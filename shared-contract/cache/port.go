package cache

import "context"

// CachePort keeps entries for a while. What it answers is only ever of one entry:
// there are no listings and no transactions.
//
// The deadline of ctx is the caller's and must be finite; a ctx without one is
// answered with Unavailable DEADLINE, and a zero Key or Entry with Unavailable
// REQUEST. An implementation never repeats a write. Values are copied: what is
// passed in or handed out belongs to the caller. All methods are safe for concurrent
// use.
type CachePort interface {
	// Get answers a hit or a miss.
	Get(ctx context.Context, key Key) Reading

	// Put stores entry in place of whatever is there.
	Put(ctx context.Context, key Key, entry Entry) Writing

	// PutIfAbsent stores entry if nothing is there, else it is a conflict: of any
	// number of callers at once, one stores.
	PutIfAbsent(ctx context.Context, key Key, entry Entry) Writing

	// CompareAndReplace stores entry if what is there is still what observed is of,
	// else it is a conflict: the entry has gone or is another one, if only for a
	// while and of the same value. Of any number of callers with one token, one
	// stores.
	CompareAndReplace(ctx context.Context, key Key, observed Token, entry Entry) Writing

	// Delete removes what is there, if anything is. Stored, then, says that nothing
	// is there now; its token is zero.
	Delete(ctx context.Context, key Key) Writing
}
