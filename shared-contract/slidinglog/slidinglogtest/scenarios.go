package slidinglogtest

import (
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

const (
	minute = time.Minute // the window of every scenario
	micro  = time.Microsecond
)

// scenarios is what every implementation promises, each as one timeline that
// begins with no logs.
var scenarios = []scenario{
	{"both layers have room", []step{
		dual(0, 3, ann, 2, yes(left(2, minute), left(1, minute))),
		dual(time.Second, 3, ann, 2, yes(left(1, minute), left(0, minute))),
	}},
	{"the tenant is full", []step{
		dual(0, 2, ann, 5, yes(left(1, minute), left(4, minute))),
		dual(time.Second, 2, ann, 5, yes(left(0, minute), left(3, minute))),
		dual(3*time.Second, 2, ann, 5, no(57*time.Second, left(0, 58*time.Second), left(3, 58*time.Second))),
	}},
	{"the user is full", []step{
		dual(0, 5, ann, 1, yes(left(4, minute), left(0, minute))),
		dual(time.Second, 5, ann, 1, no(59*time.Second, left(4, 59*time.Second), left(0, 59*time.Second))),
	}},
	{"both are full, and the later of the two says when", []step{
		dual(0, 2, bob, 1, yes(left(1, minute), left(0, minute))),
		dual(10*time.Second, 2, ann, 1, yes(left(0, minute), left(0, minute))),
		dual(20*time.Second, 2, ann, 1, no(50*time.Second, left(0, 50*time.Second), left(0, 50*time.Second))),
	}},
	{"two users share a tenant", []step{
		dual(0, 3, ann, 2, yes(left(2, minute), left(1, minute))),
		dual(0, 3, bob, 2, yes(left(1, minute), left(1, minute))),
		dual(0, 3, ann, 2, yes(left(0, minute), left(0, minute))),
		dual(0, 3, bob, 2, no(minute, left(0, minute), left(1, minute))),
	}},
	{"a call that the user denies leaves the tenant's count", []step{
		dual(0, 2, ann, 1, yes(left(1, minute), left(0, minute))),
		dual(0, 2, ann, 1, no(minute, left(1, minute), left(0, minute))),
		dual(0, 2, ann, 1, no(minute, left(1, minute), left(0, minute))),
		dual(0, 2, bob, 1, yes(left(0, minute), left(0, minute))),
	}},
	{"a call that the tenant denies leaves the user's count", []step{
		dual(0, 1, bob, 5, yes(left(0, minute), left(4, minute))),
		dual(0, 1, ann, 5, no(minute, left(0, minute), left(5, 0))),
		dual(0, 1, ann, 5, no(minute, left(0, minute), left(5, 0))),
		dual(0, 3, ann, 5, yes(left(1, minute), left(4, minute))),
	}},
	{"single and dual calls of one tenant count together", []step{
		single(0, tenant, 3, yes(left(2, minute))),
		dual(0, 3, ann, 3, yes(left(1, minute), left(2, minute))),
		single(0, tenant, 3, yes(left(0, minute))),
		dual(0, 3, ann, 3, no(minute, left(0, minute), left(2, minute))),
		single(0, ann, 3, yes(left(1, minute))),
	}},
	{"the window slides at the exact microsecond", []step{
		single(0, tenant, 2, yes(left(1, minute))),
		single(micro, tenant, 2, yes(left(0, minute))),
		single(minute-micro, tenant, 2, no(time.Millisecond, left(0, time.Millisecond))),
		single(minute, tenant, 2, yes(left(0, minute))),
		single(minute, tenant, 2, no(time.Millisecond, left(0, minute))),
		single(minute+micro, tenant, 2, yes(left(0, minute))),
	}},
	{"a layer's window slides at the exact microsecond in a dual call", []step{
		dual(0, 1, ann, 1, yes(left(0, minute), left(0, minute))),
		dual(minute-micro, 1, ann, 1, no(time.Millisecond, left(0, time.Millisecond), left(0, time.Millisecond))),
		dual(minute, 1, ann, 1, yes(left(0, minute), left(0, minute))),
	}},
	{"calls of one microsecond are counted one by one", []step{
		single(0, tenant, 3, yes(left(2, minute))),
		single(0, tenant, 3, yes(left(1, minute))),
		single(0, tenant, 3, yes(left(0, minute))),
		single(0, tenant, 3, no(minute, left(0, minute))),
	}},
	{"a limit lowered under way takes effect at once", []step{
		single(0, tenant, 5, yes(left(4, minute))),
		single(time.Second, tenant, 5, yes(left(3, minute))),
		single(2*time.Second, tenant, 5, yes(left(2, minute))),
		single(3*time.Second, tenant, 1, no(59*time.Second, left(0, 59*time.Second))),
		single(3*time.Second, tenant, 2, no(58*time.Second, left(0, 59*time.Second))),
		single(3*time.Second, tenant, 4, yes(left(0, minute))),
	}},
	{"either layer's limit lowered under way takes effect at once in a dual call", []step{
		dual(0, 5, ann, 5, yes(left(4, minute), left(4, minute))),
		dual(time.Second, 5, ann, 5, yes(left(3, minute), left(3, minute))),
		dual(2*time.Second, 1, ann, 5, no(59*time.Second, left(0, 59*time.Second), left(3, 59*time.Second))),
		dual(2*time.Second, 5, ann, 1, no(59*time.Second, left(3, 59*time.Second), left(0, 59*time.Second))),
		dual(2*time.Second, 2, ann, 1, no(59*time.Second, left(0, 59*time.Second), left(0, 59*time.Second))),
		dual(2*time.Second, 3, ann, 3, yes(left(0, minute), left(0, minute))),
	}},
	{"a limit raised under way takes effect at once", []step{
		dual(0, 1, ann, 1, yes(left(0, minute), left(0, minute))),
		dual(0, 1, ann, 1, no(minute, left(0, minute), left(0, minute))),
		dual(0, 2, ann, 3, yes(left(0, minute), left(1, minute))),
	}},
	{"limit 0 denies", []step{
		single(0, tenant, 0, no(minute, left(0, 0))),
		dual(0, 0, ann, 5, no(minute, left(0, 0), left(5, 0))),
		dual(0, 5, ann, 0, no(minute, left(5, 0), left(0, 0))),
		dual(0, 5, ann, 5, yes(left(4, minute), left(4, minute))),
	}},
	{"a key id stands in for a user id, and is not the user of that name", []step{
		dual(0, 5, keyAnn, 1, yes(left(4, minute), left(0, minute))),
		dual(0, 5, keyAnn, 1, no(minute, left(4, minute), left(0, minute))),
		dual(0, 5, ann, 1, yes(left(3, minute), left(0, minute))),
	}},
	{"an anonymous client has one layer, its address", []step{
		single(0, address, 1, yes(left(0, minute))),
		single(0, address, 1, no(minute, left(0, minute))),
		single(0, other, 1, yes(left(0, minute))),
	}},
	{"two tenants share nothing, though their users have one name", []step{
		dual(0, 1, ann, 1, yes(left(0, minute), left(0, minute))),
		{at: 0, outer: rival, outerLimit: 1, inner: rivals, innerLimit: 1, want: yes(left(0, minute), left(0, minute))},
	}},
	{"a client that never pauses is let in when its oldest call is a window old", append(append([]step{
		single(0, tenant, 1, yes(left(0, minute)))},
		repeated(1000, single(minute-micro, tenant, 1, no(time.Millisecond, left(0, time.Millisecond))))...),
		single(minute, tenant, 1, yes(left(0, minute))),
	)},
	{"a clock one window back stands still until it has caught up", []step{
		single(0, tenant, 2, yes(left(1, minute))),
		single(-minute, tenant, 2, yes(left(0, 2*minute))),
		single(-minute, tenant, 2, no(2*minute, left(0, 2*minute))),
		single(minute-micro, tenant, 2, no(time.Millisecond, left(0, time.Millisecond))),
		single(minute, tenant, 2, yes(left(1, minute))),
	}},
	{"a clock one window back stands still for both layers", []step{
		dual(0, 3, ann, 2, yes(left(2, minute), left(1, minute))),
		dual(-minute, 3, ann, 2, yes(left(1, 2*minute), left(0, 2*minute))),
		dual(-minute, 3, ann, 2, no(2*minute, left(1, 2*minute), left(0, 2*minute))),
		dual(-minute-micro, 3, bob, 2, unsafe),
		dual(-minute, 3, bob, 2, yes(left(0, 2*minute), left(1, 2*minute))),
		dual(minute, 3, ann, 2, yes(left(2, minute), left(1, minute))),
	}},
	{"a clock more than one window back, by a microsecond or an hour, is not safe", []step{
		dual(0, 2, ann, 2, yes(left(1, minute), left(1, minute))),
		single(-minute-micro, tenant, 2, unsafe),
		dual(-time.Hour, 2, ann, 2, unsafe),
		dual(-time.Hour, 2, bob, 2, unsafe),
		single(-time.Hour, bob, 2, yes(left(1, minute))),
		dual(0, 2, ann, 2, yes(left(0, minute), left(0, minute))),
	}},
	{"either layer's log holds the clock of both", []step{
		single(0, ann, 2, yes(left(1, minute))),
		dual(-time.Second, 2, ann, 2, yes(left(1, 61*time.Second), left(0, 61*time.Second))),
		single(minute-micro, tenant, 1, no(time.Millisecond, left(0, time.Millisecond))),
		single(minute, tenant, 1, yes(left(0, minute))),
	}},
}

// unsafe is the answer ErrClockUnsafe.
var unsafe = answer{err: slidinglog.ErrClockUnsafe}

func yes(layers ...slidinglog.Layer) answer { return answered(true, 0, layers) }

func no(retryAfter time.Duration, layers ...slidinglog.Layer) answer {
	return answered(false, retryAfter, layers)
}

func left(remaining int, resetAfter time.Duration) slidinglog.Layer {
	return slidinglog.Layer{Remaining: remaining, ResetAfter: resetAfter}
}

func single(at time.Duration, key string, limit int, want answer) step {
	return step{at: at, outer: key, outerLimit: limit, want: want}
}

func dual(at time.Duration, tenantLimit int, inner string, innerLimit int, want answer) step {
	return step{at: at, outer: tenant, outerLimit: tenantLimit, inner: inner, innerLimit: innerLimit, want: want}
}

func repeated(n int, s step) []step {
	steps := make([]step, n)
	for i := range steps {
		steps[i] = s
	}
	return steps
}
