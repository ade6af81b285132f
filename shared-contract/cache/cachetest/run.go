package cachetest

import (
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/cache"
)

// Harness is what [Run] needs to know of an implementation.
type Harness struct {
	// New makes a port. It is called for each check; what it opens, it closes by
	// t.Cleanup. It must take 100 calls at once. Ports may share one store.
	New func(t *testing.T) cache.CachePort

	// Pass lets d pass on the store's clock: it moves a clock that stands still, or
	// waits for one that does not.
	Pass func(t *testing.T, d time.Duration)
}

// Run holds an implementation against the contract of the port. Each promise is a
// subtest, named as a sentence.
func Run(t *testing.T, h Harness) {
	for _, c := range checks {
		t.Run(c.promise, func(t *testing.T) { c.hold(scene{T: t, port: h.New(t), pass: h.Pass}) })
	}
}

type check struct {
	promise string
	hold    func(s scene)
}

var checks = []check{
	{"what was never stored is a miss", missesAtFirst},
	{"what was put is a hit with its value, its token and the time that is left", putsAndGets},
	{"put replaces what is there, and the token with it", putsAgain},
	{"every write has a token of its own, of an equal value too", tokensDiffer},
	{"a token is the same for every reader of one write", tokensLast},
	{"values are bytes: empty, of any kind, and as long as they may be", keepsBytes},
	{"a value is copied on its way in and out", copiesValues},
	{"keys differ by region and by name alone", separatesKeys},
	{"a TTL ends an entry and not before", expires},
	{"a TTL is kept to the millisecond, and as long as it may be", keepsTTLs},
	{"a write begins a new TTL", renews},
	{"put if absent stores where nothing is, and is a conflict else", putsIfAbsent},
	{"put if absent stores again after the end of a TTL and after a delete", putsIfAbsentAgain},
	{"a hundred at once put if absent: one stores", putsIfAbsentAtOnce},
	{"compare and replace stores over what was observed", replaces},
	{"compare and replace is a conflict once another write came between", replacesWhatWasObserved},
	{"compare and replace is a conflict after another value came and went", noticesRoundTrips},
	{"compare and replace is a conflict where nothing is", replacesNothing},
	{"compare and replace is a conflict by a token of another key and by the zero token", replacesByItsOwnToken},
	{"a writer replaces by the token of its own write", replacesOwnWrite},
	{"a hundred writers at once replace by one token: one stores, round after round", replacesAtOnce},
	{"delete leaves nothing, whatever was there", deletes},
	{"a delete amid replaces is for good: none brings the entry back, and put if absent then stores", deletesAmidReplaces},
	{"a zero key or entry is Unavailable REQUEST and changes nothing", refusesZeros},
	{"a context without a deadline is Unavailable DEADLINE and changes nothing", refusesNoDeadline},
	{"a context that has ended is Unavailable DEADLINE and changes nothing", refusesEnded},
}
