package history_test

import (
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
)

// sum is what callers know of what a state was charged.
type sum struct {
	call           call // one of its calls
	known, unknown int64
}

func (s *sum) add(o operation) {
	cost := max(o.Call.Cost, 1)
	switch {
	case o.Fate == unknown:
		s.unknown += cost
	case o.allowed():
		s.known += cost
	}
}

func sums(made []operation) map[string]sum {
	all := map[string]sum{}
	for _, o := range made {
		name := o.Call.state()
		s := all[name]
		s.call = o.Call
		s.add(o)
		all[name] = s
	}
	return all
}

// expectCharged wants each state to hold what callers were told, and of what they were not told none to all.
func expectCharged(t *testing.T, made []operation, name string, held func(call) int64) {
	t.Helper()
	var charged, told, untold int64
	for state, sum := range sums(made) {
		holds := held(sum.call)
		sum.expect(t, state, holds)
		charged, told, untold = charged+holds, told+sum.known, untold+sum.unknown
	}
	evidence.Record(t, name+": charged by the server", "%d, where callers were told of %d, and of %d not whether", charged, told, untold)
}

// shares are what the callers of a tenant know of his log: what was charged for himself alone, and for each user.
type shares [users + 1]sum

// expectBothCharged wants each user's log to hold what its callers were told, and of what they were not told none to
// all; and the tenant's to hold all that his users' do, and beside it what he was charged for himself.
func expectBothCharged(t *testing.T, made []operation, held func(log string) int64) {
	t.Helper()
	tenants := map[string]*shares{}
	for _, o := range made {
		if tenants[o.Call.Subject] == nil {
			tenants[o.Call.Subject] = &shares{}
		}
		tenants[o.Call.Subject][o.Call.User].add(o)
	}
	var logs, both, untold int64
	for tenant, s := range tenants {
		alone := held(tenant)
		for user := 1; user <= users; user++ {
			holds := held(userOf(tenant, user))
			s[user].expect(t, userOf(tenant, user), holds)
			logs, both, untold, alone = logs+1, both+holds, untold+s[user].unknown, alone-holds
		}
		s[0].expect(t, tenant+" alone", alone)
	}
	evidence.Record(t, "sliding log, faulty link: charged to a user's log and his tenant's",
		"%d in %d logs of users; of %d callers were not told", both, logs, untold)
}

// expect wants holds to be what is known, and of what is unknown none to all.
func (s sum) expect(t *testing.T, of string, holds int64) {
	t.Helper()
	if holds < s.known || holds > s.known+s.unknown {
		t.Errorf("%s: the server holds %d, want %d to %d", of, holds, s.known, s.known+s.unknown)
	}
}
