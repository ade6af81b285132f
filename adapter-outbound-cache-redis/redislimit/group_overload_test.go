package redislimit_test

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// However groups form, no more calls are held than there are places; the others have
// waited their time and nothing of theirs was sent.
func TestGroup_holdsNoMoreCallsThanThereArePlaces(t *testing.T) {
	const callers, places = 200, 21
	r := newRig(t, redistest.Start(t), func(c *redislimit.Config) {
		c.Redis.MaxInFlight, c.Redis.AdmissionWait, c.Redis.CommandTimeout = places, 500*time.Millisecond, groupTimeout
	})
	r.server.Pause(t)
	questions := make([]question, callers)
	said := make(chan string, callers)
	for i := range questions {
		questions[i] = questionOf(r.config.Policies[i%3].ID())
		go func() { said <- r.ask(questions[i]).said }()
	}
	most := 0
	r.eventually("refuse who has no place", func() bool {
		most = max(most, r.provider.Connection().Stats().InFlight)
		return len(said) == callers-places
	})
	r.server.Resume(t)
	counts := map[string]int{}
	for range callers {
		counts[<-said]++
	}
	if most != places || counts[allowed(policyLimit-1)] != places || counts["unavailable OVERLOADED"] != callers-places {
		t.Errorf("%d in flight, outcomes %v, want %d and the others OVERLOADED", most, counts, places)
	}
	charged := int64(0)
	for _, q := range questions {
		charged += r.charged(q.policy, q.subject)
	}
	if charged != places {
		t.Errorf("the server charged %d, want %d", charged, places)
	}
	r.expectBreaker("closed")
}

// While both lanes stand still, one caller after another is served by the connections
// beside them.
func TestGroup_stalledLanesDelayTheOthersLittle(t *testing.T) {
	const callers, little = 20, groupTimeout / 8
	r := newRig(t, redistest.Start(t), func(c *redislimit.Config) {
		c.Redis.CommandTimeout, c.Redis.AdmissionWait = groupTimeout, groupTimeout
		c.Redis.BreakerFailures = 1 << 30
	})
	r.link.Fault("EVALSHA", 2, redistest.Silence())
	wait := r.occupy(2, func() { r.expect("token-bucket", subject(), 1, "indeterminate") })
	var took []time.Duration
	for range callers {
		a := r.ask(questionOf("token-bucket"))
		if a.said != allowed(policyLimit-1) {
			t.Errorf("got %s beside lanes that stand still", a.said)
		}
		took = append(took, a.took)
	}
	slices.Sort(took)
	if median := took[callers/2]; median > little {
		t.Errorf("served after %v in the median, want %v at most", median, little)
	}
	wait()
}

// Callers who have come in different ways are all answered by a Close, which leaves no
// goroutine: those in line, those in a group, one alone, and one alone who has left.
func TestGroup_closeAnswersAllAndLeavesNoGoroutine(t *testing.T) {
	for sentence, goesOn := range map[string]bool{"the server goes on": true, "the server stands still": false} {
		t.Run(sentence, func(t *testing.T) {
			r := newRig(t, redistest.Start(t), func(c *redislimit.Config) {
				c.Redis.MaxInFlight, c.Redis.AdmissionWait, c.Redis.CommandTimeout = 12, patience, time.Second
			})
			r.server.Pause(t)
			left, leave := leaver("token-bucket")
			said := make(chan string, 32)
			ask := func(q question) { go func() { said <- r.ask(q).said }() }
			ask(left)
			r.eventually("be alone", func() bool { return r.provider.Connection().Stats().InFlight == 1 })
			leave()
			if got := <-said; got != "indeterminate" && !strings.HasPrefix(got, "unavailable") {
				t.Errorf("who left got %s", got)
			}
			for range 31 {
				ask(questionOf("token-bucket"))
			}
			r.eventually("take every place", func() bool { return r.provider.Connection().Stats().InFlight == 12 })
			closed := make(chan error, 1)
			go func() { closed <- r.provider.Close() }()
			r.eventually("refuse the line", func() bool { return len(said) >= 31-12 })
			if goesOn {
				r.server.Resume(t)
			}
			if err := <-closed; err != nil {
				t.Error(err)
			}
			counts := map[string]int{}
			for range 31 {
				counts[<-said]++
			}
			want := map[bool]string{true: allowed(policyLimit - 1), false: "indeterminate"}[goesOn]
			if served := counts[want]; served < 11 || served+counts["unavailable CONNECTION"] != 31 {
				t.Errorf("outcomes %v, want those in flight %s and the others refused", counts, want)
			}
			r.eventually("end its goroutines", func() bool { return !strings.Contains(stacks(), "/coordination.") })
			if !goesOn {
				r.server.Resume(t)
			}
		})
	}
}

// Ten thousand callers at once at a server that takes everything and answers nothing
// are answered in time, over a bounded number of connections, and leave nothing behind.
func TestGroup_tenThousandCallersOfADeadServerAreAnsweredInTime(t *testing.T) {
	const callers, places = 10_000, 64
	r := newRig(t, redistest.Start(t), func(c *redislimit.Config) {
		c.Redis.MaxInFlight, c.Redis.AdmissionWait = places, 100*time.Millisecond
	})
	before := runtime.NumGoroutine()
	r.link.Blackhole()
	var all sync.WaitGroup
	answers := make([]answer, callers)
	for i := range answers {
		all.Go(func() { answers[i] = r.ask(questionOf("token-bucket")) })
	}
	all.Wait()
	counts := map[string]int{}
	latest := time.Duration(0)
	for _, a := range answers {
		counts[a.said]++
		latest = max(latest, a.took)
	}
	if counts["indeterminate"] == 0 || counts["unavailable OVERLOADED"]+counts["unavailable CONNECTION"]+counts["indeterminate"] != callers {
		t.Errorf("outcomes %v", counts)
	}
	// A crowd is late by itself, the more so under the race detector.
	if latest > r.provider.Budget()+groupTimeout {
		t.Errorf("the last caller was answered after %v, with a budget of %v", latest, r.provider.Budget())
	}
	if got := r.link.MaxOpen(); got > places+1 {
		t.Errorf("%d connections, want %d at most", got, places+1)
	}
	r.link.Heal()
	r.eventually("serve again", func() bool { return r.evaluate("token-bucket", subject(), 1).Allows() })
	r.eventually("end their goroutines", func() bool {
		stats := r.provider.Connection().Stats()
		return stats.InFlight == 0 && stats.Waiting == 0 && runtime.NumGoroutine() <= before+4*places
	})
}
