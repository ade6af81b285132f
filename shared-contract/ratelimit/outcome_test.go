package ratelimit_test

import (
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// arm is which function of Match was called, and what it was given.
type arm struct {
	name       string
	policyID   string
	retryAfter time.Duration
	category   ratelimit.Category
	allowed    bool
}

func match(o ratelimit.Outcome) arm {
	return ratelimit.Match(o,
		func(e ratelimit.Evaluated) arm {
			return arm{name: "evaluated", policyID: e.Decision.PolicyID, allowed: e.Decision.Allowed}
		},
		func(u ratelimit.Unavailable) arm {
			return arm{name: "unavailable", policyID: u.PolicyID, retryAfter: u.RetryAfter, category: ratelimit.Category(u.Category)}
		},
		func(i ratelimit.Indeterminate) arm {
			return arm{name: "indeterminate", policyID: i.PolicyID, retryAfter: i.RetryAfter}
		},
		func(i ratelimit.Incompatible) arm {
			return arm{name: "incompatible", policyID: i.PolicyID, category: ratelimit.Category(i.Category)}
		})
}

func TestOutcome_matchesItsArmAndAllowsOnlyIfDecided(t *testing.T) {
	for _, row := range []struct {
		sentence string
		outcome  ratelimit.Outcome
		kind     ratelimit.Kind
		want     arm
	}{
		{"the zero outcome is indeterminate", ratelimit.Outcome{}, ratelimit.KindIndeterminate,
			arm{name: "indeterminate", retryAfter: time.Second}},
		{"an allow allows", ratelimit.Evaluated{Decision: ratelimit.Decision{Allowed: true, PolicyID: "p"}}.Outcome(), ratelimit.KindEvaluated,
			arm{name: "evaluated", policyID: "p", allowed: true}},
		{"the zero decision denies", ratelimit.Evaluated{}.Outcome(), ratelimit.KindEvaluated,
			arm{name: "evaluated"}},
		{"unavailable carries its cause and when to retry", ratelimit.Unavailable{PolicyID: "p", RetryAfter: 7 * time.Second, Category: ratelimit.UnavailableClock}.Outcome(), ratelimit.KindUnavailable,
			arm{name: "unavailable", policyID: "p", retryAfter: 7 * time.Second, category: "CLOCK"}},
		{"the zero unavailable retries after a second", ratelimit.Unavailable{}.Outcome(), ratelimit.KindUnavailable,
			arm{name: "unavailable", retryAfter: time.Second}},
		{"a negative retry-after becomes a second", ratelimit.Unavailable{RetryAfter: -time.Hour}.Outcome(), ratelimit.KindUnavailable,
			arm{name: "unavailable", retryAfter: time.Second}},
		{"an endless retry-after becomes 366 days", ratelimit.Unavailable{RetryAfter: 1<<63 - 1}.Outcome(), ratelimit.KindUnavailable,
			arm{name: "unavailable", retryAfter: ratelimit.MaxSpan}},
		{"indeterminate carries when to retry", ratelimit.Indeterminate{PolicyID: "p", RetryAfter: 3 * time.Second}.Outcome(), ratelimit.KindIndeterminate,
			arm{name: "indeterminate", policyID: "p", retryAfter: 3 * time.Second}},
		{"the zero indeterminate retries after a second", ratelimit.Indeterminate{}.Outcome(), ratelimit.KindIndeterminate,
			arm{name: "indeterminate", retryAfter: time.Second}},
		{"an endless indeterminate becomes 366 days", ratelimit.Indeterminate{RetryAfter: 1<<63 - 1}.Outcome(), ratelimit.KindIndeterminate,
			arm{name: "indeterminate", retryAfter: ratelimit.MaxSpan}},
		{"incompatible carries its cause", ratelimit.Incompatible{PolicyID: "p", Category: ratelimit.IncompatibleReply}.Outcome(), ratelimit.KindIncompatible,
			arm{name: "incompatible", policyID: "p", category: "REPLY"}},
		{"the zero incompatible is one", ratelimit.Incompatible{}.Outcome(), ratelimit.KindIncompatible,
			arm{name: "incompatible"}},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			if got := match(row.outcome); got != row.want {
				t.Errorf("got %+v, want %+v", got, row.want)
			}
			if row.outcome.Kind() != row.kind || row.outcome.Kind().String() != row.want.name {
				t.Errorf("got kind %v, want %v", row.outcome.Kind(), row.kind)
			}
			if row.outcome.Category() != row.want.category {
				t.Errorf("got category %q, want %q", row.outcome.Category(), row.want.category)
			}
			if row.outcome.Allows() != row.want.allowed {
				t.Errorf("got allows %t, want %t", row.outcome.Allows(), row.want.allowed)
			}
		})
	}
}

func TestKind_zeroClaimsTheLeast(t *testing.T) {
	var zero ratelimit.Kind
	if zero != ratelimit.KindIndeterminate || zero.String() != "indeterminate" || ratelimit.Kind(99).String() != "unknown" {
		t.Errorf("got %v and %v", zero, ratelimit.Kind(99))
	}
}

func TestDecision_zeroDenies(t *testing.T) {
	var d ratelimit.Decision
	if d.Allowed || d.Remaining != 0 || d.ResetAfter() != 0 {
		t.Errorf("got %+v", d)
	}
}

func TestDecision_resetAfterIsWhatIsLeft(t *testing.T) {
	for _, row := range []struct {
		sentence         string
		observed, resets int64
		want             time.Duration
	}{
		{"a second", 1_000, 2_000, time.Second},
		{"nothing when it is over", 2_000, 1_000, 0},
		{"366 days at most", 0, ratelimit.MaxSafeInteger, ratelimit.MaxSpan},
	} {
		d := ratelimit.Decision{ObservedAtMillis: row.observed, ResetAtMillis: row.resets}
		if got := d.ResetAfter(); got != row.want {
			t.Errorf("%s: got %v, want %v", row.sentence, got, row.want)
		}
	}
}

func TestSpan_isHeldWithinWhatAClientSees(t *testing.T) {
	for _, row := range []struct {
		millis int64
		want   time.Duration
	}{
		{-1 << 63, 0}, {-1, 0}, {0, 0}, {1, time.Millisecond},
		{ratelimit.MaxSpan.Milliseconds() - 1, ratelimit.MaxSpan - time.Millisecond},
		{ratelimit.MaxSpan.Milliseconds(), ratelimit.MaxSpan},
		{ratelimit.MaxSpan.Milliseconds() + 1, ratelimit.MaxSpan},
		{1<<63 - 1, ratelimit.MaxSpan},
	} {
		if got := ratelimit.Span(row.millis); got != row.want {
			t.Errorf("%d: got %v, want %v", row.millis, got, row.want)
		}
	}
}

var allocationSink int

func TestMatchAndAllows_allocateNothing(t *testing.T) {
	outcomes := []ratelimit.Outcome{
		ratelimit.Evaluated{Decision: ratelimit.Decision{Allowed: true}}.Outcome(),
		ratelimit.Unavailable{}.Outcome(), ratelimit.Indeterminate{}.Outcome(), ratelimit.Incompatible{}.Outcome(),
	}
	allocations := testing.AllocsPerRun(100, func() {
		for _, o := range outcomes {
			allocationSink += ratelimit.Match(o,
				func(e ratelimit.Evaluated) int { return int(e.Decision.Remaining) },
				func(u ratelimit.Unavailable) int { return int(u.RetryAfter) },
				func(i ratelimit.Indeterminate) int { return int(i.RetryAfter) },
				func(i ratelimit.Incompatible) int { return len(i.PolicyID) })
			if o.Allows() {
				allocationSink++
			}
		}
	})
	if allocations != 0 {
		t.Errorf("got %v allocations, want 0", allocations)
	}
}
