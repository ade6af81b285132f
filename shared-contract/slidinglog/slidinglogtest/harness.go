package slidinglogtest

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// Single is a limiter of one layer.
type Single interface {
	Allow(key string, limit int) (bool, int, error)
	AllowContext(ctx context.Context, key string, limit int) (slidinglog.Verdict, error)
}

// Dual is a limiter of two layers.
type Dual interface {
	AllowDual(outerKey string, outerLimit int, innerKey string, innerLimit int) (bool, int, int, error)
	AllowDualContext(ctx context.Context, outerKey string, outerLimit int, innerKey string, innerLimit int) (slidinglog.Verdict, error)
}

// Limiters are what is held against the promises: a single and a dual limiter over
// the same logs, which must take 200 calls at once.
type Limiters struct {
	Single Single
	Dual   Dual

	// SetNow sets the clock that decides, which otherwise stands still. It
	// also goes back.
	SetNow func(nowMicros int64)

	// Drop removes the logs of keys as an expiry does. It is nil where it
	// cannot be done; the vectors are then run with kept logs alone.
	Drop func(keys ...string)

	// Lose makes the store unreachable, with all that it holds, until restore is
	// called. It is nil where there is no store to lose.
	Lose func() (restore func())
}

// Harness is what the suites need to know of an implementation.
type Harness struct {
	// New makes limiters of one window. It is called for each check; what it
	// opens, it closes by t.Cleanup. Limiters may share one store: every check
	// has keys of its own. Logs must not expire while a check runs but by Drop.
	New func(t *testing.T, window time.Duration) Limiters
}

// Run holds an implementation against the table of scenarios, the refusals, the
// promises about calls at once and, if the harness can lose the store, those about
// an outage. Each promise is a subtest, named as a sentence.
func Run(t *testing.T, h Harness) {
	for _, s := range scenarios {
		t.Run(s.sentence, func(t *testing.T) {
			t.Run("by context", func(t *testing.T) { s.hold(t, h, byContext) })
			t.Run("by the plain call", func(t *testing.T) { s.hold(t, h, plainly) })
		})
	}
	for _, refused := range refusals {
		t.Run("refused: "+refused.sentence, func(t *testing.T) { refused.hold(t, h) })
	}
	for _, check := range rushes {
		t.Run(check.sentence, func(t *testing.T) { check.hold(t, h) })
	}
	t.Run("a store that is gone allows nothing, and once it is back it serves by what it had counted", func(t *testing.T) {
		holdOutage(t, h)
	})
}

// startMicros is where the clock of every check begins: 2026-01-01 00:00 UTC.
const startMicros = 1_767_225_600_000_000

// keyring makes the keys of one check its own: in each, * stands for a word that
// no other check has.
type keyring struct{ word string }

func newKeyring() keyring { return keyring{word: strings.ToLower(rand.Text())[:12]} }

func (k keyring) key(pattern string) string { return strings.ReplaceAll(pattern, "*", k.word) }

// The keys that the checks speak of.
const (
	tenant  = "rl:{acme-*}"
	ann     = "rl:{acme-*}:user:ann"
	bob     = "rl:{acme-*}:user:bob"
	keyAnn  = "rl:{acme-*}:key:ann"
	address = "rl:anon:0123456789*"
	other   = "rl:anon:9876543210*"
	rival   = "rl:{rival-*}"
	rivals  = "rl:{rival-*}:user:ann"
)
