package contracttest

import (
	"slices"
	"sync"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// callers is how many goroutines ask at once.
const callers = 64

// admissionChecks are made for each algorithm.
var admissionChecks = []check{
	{
		promise: "one by one, exactly the limit is admitted", limit: 7,
		run: func(a scene, p ratelimit.Policy) {
			port, subject := a.port(p), newSubject()
			for n := range p.Limit() {
				a.expect(port, p, subject, 1, allowed(p.Limit()-n-1))
			}
			a.expect(port, p, subject, 1, denied(0))
			a.expect(port, p, subject, 1, denied(0))
		},
	},
	{
		promise: "a limit of one admits one", limit: 1,
		run: func(a scene, p ratelimit.Policy) {
			port, subject := a.port(p), newSubject()
			a.expect(port, p, subject, 1, allowed(0))
			a.expect(port, p, subject, 1, denied(0))
		},
	},
	{
		promise: "the whole limit can be one cost", limit: 10,
		run: func(a scene, p ratelimit.Policy) {
			port, subject := a.port(p), newSubject()
			a.expect(port, p, subject, p.Limit(), allowed(0))
			a.expect(port, p, subject, 1, denied(0))
		},
	},
	{
		promise: "a denied cost leaves the smaller one that fits", limit: 10,
		run: func(a scene, p ratelimit.Policy) {
			port, subject := a.port(p), newSubject()
			a.expect(port, p, subject, 3, allowed(7))
			a.expect(port, p, subject, 8, denied(7))
			a.expect(port, p, subject, 7, allowed(0))
		},
	},
	{
		promise: "a cost above what remains is not admitted in part", limit: 10,
		run: func(a scene, p ratelimit.Policy) {
			port, subject := a.port(p), newSubject()
			a.expect(port, p, subject, 8, allowed(2))
			a.expect(port, p, subject, 5, denied(2))
			a.expect(port, p, subject, 2, allowed(0))
		},
	},
	{
		promise: "denials charge nothing, however many", limit: 10,
		run: func(a scene, p ratelimit.Policy) {
			port, subject := a.port(p), newSubject()
			a.expect(port, p, subject, 9, allowed(1))
			for range 50 {
				a.expect(port, p, subject, 2, denied(1))
			}
			a.expect(port, p, subject, 1, allowed(0))
		},
	},
	{
		promise: "of 64 callers at once exactly the limit is admitted", limit: 137,
		run: func(a scene, p ratelimit.Policy) {
			port, subject := a.port(p), newSubject()
			remaining := a.storm(port, p, subject, 1, 5)
			want := make([]int64, p.Limit())
			for n := range want {
				want[n] = int64(n)
			}
			if !slices.Equal(remaining, want) {
				a.faultf("%d admitted, want %d, and each with another remaining: got %v", len(remaining), p.Limit(), remaining)
			}
			a.expect(port, p, subject, 1, denied(0))
		},
	},
	{
		promise: "of 64 callers at once with a cost of three no unit is admitted twice", limit: 100,
		run: func(a scene, p ratelimit.Policy) {
			port, subject := a.port(p), newSubject()
			if remaining := a.storm(port, p, subject, 3, 2); len(remaining) != 33 {
				a.faultf("%d admitted, want 33 times 3 of 100", len(remaining))
			}
			a.expect(port, p, subject, 1, allowed(0))
		},
	},
}

// storm asks from all callers at once, each the same number of times, and
// returns what remained after each admission, sorted.
func (a *attempt) storm(port ratelimit.EdgeRateLimitPort, p ratelimit.Policy, subject string, cost int64, times int) []int64 {
	var mu sync.Mutex
	var remaining []int64
	together(func(int) {
		for range times {
			if d := a.decide(port, p, subject, cost); d.Allowed {
				mu.Lock()
				remaining = append(remaining, d.Remaining)
				mu.Unlock()
			}
		}
	})
	slices.Sort(remaining)
	return remaining
}

// together runs call once for each caller, begun at one moment, and waits.
func together(call func(caller int)) {
	begin := make(chan struct{})
	var done sync.WaitGroup
	for caller := range callers {
		done.Go(func() {
			<-begin
			call(caller)
		})
	}
	close(begin)
	done.Wait()
}
