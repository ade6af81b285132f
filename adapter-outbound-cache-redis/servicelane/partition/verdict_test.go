package partition_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/caller"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
)

// verdict holds a scene's accounts to the bound: of each key, limit x (1 + histories lost or side by side). The policies
// free nothing meanwhile, so that is the bound of every algorithm.
type verdict struct {
	scene     string
	questions []caller.Question

	before, left, right, rest *ledger // rest: what was still admitted in the end
	lost                      func(question int) int64

	parted            func(question int) bool // each side had a master for it
	cutLeft, cutRight caller.Account
	heal              time.Duration // when it began, by the clock of the client on the left
}

func (v verdict) bound(i int) int64 { return limit * (1 + v.lost(i)) }

// judge demands the bound of each key, and the limit itself, neither more nor less, of each whose history is one.
func (v verdict) judge(t *testing.T) {
	t.Helper()
	total := sum(v.questions, v.before, v.left, v.right, v.rest)
	total.expectUnderstood(t)
	for i, q := range v.questions {
		if total.allowed[i] > v.bound(i) {
			t.Errorf("%s, question %d: %d were admitted of a limit of %d, and at most %d may be", q.PolicyID, i, total.allowed[i], limit, v.bound(i))
		}
		if least := limit - total.doubtful[i]; total.allowed[i] < least {
			t.Errorf("%s, question %d: %d were admitted, want %d at least", q.PolicyID, i, total.allowed[i], least)
		}
	}
}

// expectStopped fails unless the old master had stopped to admit, in words that prove that nothing was charged, well
// before the cut ended.
func (v verdict) expectStopped(t *testing.T) {
	t.Helper()
	late := since(v.cutLeft, "cut", v.parted)
	late.from += cutFor * 3 / 4
	if n, _ := late.admitted(); n > 0 {
		t.Errorf("the old master admitted %d in the last quarter of the cut", n)
	}
	if late.heard("unavailable SERVER") == 0 {
		t.Error("the old master did not say that it cannot serve")
	}
}

// record keeps how much of the bound was used, and who was served for how long.
func (v verdict) record(t *testing.T) {
	t.Helper()
	total := sum(v.questions, v.before, v.left, v.right, v.rest)
	var keys, worst, beyond, broken int64
	for i := range v.questions {
		broken += max(0, total.allowed[i]-v.bound(i))
		if v.parted(i) {
			keys++
			worst, beyond = max(worst, total.allowed[i]), beyond+max(0, total.allowed[i]-limit)
		}
	}
	v.keep(t, "cut in two", "%v", round(v.heal-v.cutLeft.Marks["cut"]))
	v.keep(t, "keys that both sides asked for", "%d, of limit %d; each side asked every %v, of one key after the other", keys, limit, every)
	v.keep(t, "admitted of one of them at most", "%d, which is %+d %%; the bound is %d", worst, (worst-limit)*100/limit, 2*limit)
	v.keep(t, "admitted beyond the limit, of all of them", "%d", beyond)
	v.keep(t, "admitted beyond the bound, which is the limit itself for keys with one history", "%d", broken)
	left, right := since(v.cutLeft, "cut", v.parted), since(v.cutRight, "cut", v.parted)
	n, last := left.admitted()
	v.keep(t, "admitted by the old master from the cut on", "%d, the last after %v", n, round(last))
	longest, _ := left.unserved()
	v.keep(t, "longest time without service during the cut, old master's side", "%v", round(longest))
	longest, first := right.unserved()
	v.keep(t, "longest time without service during the cut, new master's side", "%v; served first after %v", round(longest), round(first))
	v.keep(t, "heard by the client on the old master's side", "%v", v.left)
	v.keep(t, "heard by the client on the new master's side", "%v", v.right)
}

func (v verdict) keep(t *testing.T, what, format string, args ...any) {
	t.Helper()
	t.Logf("%s: %s", what, fmt.Sprintf(format, args...))
	evidence.RecordOf(t, v.scene, what, format, args...)
}

func oneIf(holds bool) int64 {
	if holds {
		return 1
	}
	return 0
}
