package promises_test

import (
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
)

// promises are all of the suite but the millions of refills. Each has keys of its own.
var promises = []struct {
	sentence string
	hold     func(t *testing.T, at redistest.Witness)
}{
	{"vectors: every number of the three programs", vectorsByEachProgram},
	{"vectors: every number of the batch", vectorsByTheBatch},
	{"vectors: every number of the logs, of one layer and of two", vectorsOfTheLogs},
	{"boundary: a denied cost is admitted exactly when it was said", exactRetries},
	{"boundary: a log admits exactly when its oldest call stops counting", exactLogRetries},
	{"boundary: on the server's own clock", retriesByTheServersClock},
	{"boundary: of a log, on the server's own clock", logRetriesByTheServersClock},
	{"regression: a denial and an unsafe clock leave the state as it was", keptStates},
	{"regression: it is Unavailable CLOCK to the provider, and nothing is written", unsafeForTheProvider},
	{"regression: it is ErrClockUnsafe to the limiters, and nothing is written", unsafeForTheLimiters},
	{"kind: it is read in every form that TYPE answers in", everyFormOfType},
	{"state: what is not ours is refused by each program and left alone", refusedStates},
	{"state: what is not ours is Incompatible STATE to the provider", incompatibleForTheProvider},
	{"state: what is no log is ErrIncompatible to the limiters, and both keys stay", incompatibleForTheLimiters},
	{"no script: each program is answered, and is sent by its source once", unheardPrograms},
	{"no script: a batch is answered and charges each once", unheardBatch},
	{"no script: what runs by itself is answered", unheardAlone},
	{"lifetime: it is exact in every step of the vectors", exactLifetimes},
	{"lifetime: of a log, its window rounded up and a second", logLifetimes},
	{"lifetime: of a provider's state, until its reset and the grace", stateLifetimes},
	{"lifetime: of the limiters' logs and of cache entries", lifetimesOfLogsAndEntries},
	{"lifetime: no key that any client names lives for ever", noImmortals},
	{"limiter: a call is charged to both layers or to neither", bothLayersOrNeither},
	{"limiter: callers at once get exactly the limit", crowdOnATenant},
	{"cache: put if absent is for whoever is first", firstWins},
	{"cache: compare and replace is for whoever holds the token", tokenWins},
	{"cache: what is of another type is Unavailable STATE and stays", foreignEntries},
	{"cache: the contract of the port", cacheContract},
	{"server: it is new enough for every program", newEnough},
	{"server: it is spoken to in the lane's protocol", protocolSpoken},
}

func TestPromises(t *testing.T) {
	t.Parallel()
	at := server.Shared(t)
	for _, promise := range promises {
		t.Run(promise.sentence, func(t *testing.T) {
			t.Parallel()
			promise.hold(t, at)
		})
	}
}
