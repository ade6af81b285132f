package programtest

import (
	"testing"

	"github.com/edgelimit/edgelimit/shared-contract/model"
)

// Life is what a key's lifetime behind SetClock ought to be: as it was set, and the
// instant at which it then ends; an instant of 0 is not known.
type Life struct{ Millis, Ends int64 }

// NoLife is of a key that is not there.
var NoLife = Life{Millis: -2}

// After is the life of a key after a decision: each write sets it.
func (l Life) After(r model.Reply, ttlMillis int64) Life {
	if r.Status != model.Allowed {
		return l
	}
	return Life{ttlMillis, r.ServerNowMillis + ttlMillis}
}

// Demand fails unless the key lives as long as it ought to, but for what has passed
// since at most.
func (l Life) Demand(t *testing.T, key string, pttl, passedMillis int64) {
	t.Helper()
	if got := Lifetime(pttl); got > l.Millis || got < l.Millis-passedMillis {
		t.Fatalf("%s: lifetime %d, want %d to %d", key, got, l.Millis-passedMillis, l.Millis)
	}
}
