package faults_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
)

const (
	crowdSize     = 10_000
	crowdSlack    = 5 * time.Millisecond // beside the bound that follows from the wait
	crowdAttempts = 5                    // of a time, on a machine that may be late by itself; counts hold in each
	mostRoutines  = 500                  // beside the callers': by places in flight, and so far fewer than they
	mostPerCaller = 16 << 10             // bytes of heap and stack, the caller's own among them
)

// A dead server costs a crowd of callers little time, few goroutines and little memory, and none of them a charge. What
// the machine adds is measured before and after, and told beside the time. It does not run beside other rows.
func TestCrowd_onADeadServer(t *testing.T) {
	rows := []struct {
		sentence string
		enter    func(s *scene)
	}{
		{"10,000 callers while the port is refused", func(s *scene) { s.Link.Refuse(); s.Link.Cut() }},
		{"10,000 callers while the network is a black hole", func(s *scene) { s.Link.Blackhole() }},
	}
	for _, k := range kinds {
		for _, row := range rows {
			t.Run(k.name+", "+row.sentence, func(t *testing.T) {
				s := k.stage(t, nil)
				s.late() // the first crowd pays for what is made once
				before := memory()
				for attempt := 1; ; attempt++ {
					late := s.late()
					row.enter(s)
					m := s.measure()
					s.Link.Heal()
					took, kept := s.recovers(), max(memory(), before)-before
					late = max(late, s.late())
					bound := k.bound(s.Redis)
					t.Logf("attempt %d: %s; such a crowd is late by %v without Redis; %d bytes more than before", attempt, m, round(late), kept)
					if kept > before/10+mebibyte {
						t.Errorf("%d bytes are in use after the crowd, and %d were before", before+kept, before)
					}
					if m.p99() > bound && attempt < crowdAttempts {
						continue
					}
					if m.p99() > bound {
						t.Errorf("refused after %v in the 99th percentile, want at most %v", m.p99(), bound)
					}
					s.record(row.sentence, "%s; served again within %v", m, round(took))
					evidence.Record(t, row.sentence+", "+k.name+": p99 of a refusal", "%v, of %v allowed, in attempt %d of %d; without Redis such a crowd is late by %v",
						round(m.p99()), bound, attempt, crowdAttempts, round(late))
					return
				}
			})
		}
	}
}

// measurement is what a crowd met.
type measurement struct {
	refused   []time.Duration // sorted
	slowest   time.Duration   // of all, those in doubt among them
	routines  int             // beside the callers', at most
	perCaller uint64          // bytes, at most
}

func (m measurement) p99() time.Duration { return m.refused[len(m.refused)*99/100] }

// String has the figures.
func (m measurement) String() string {
	return fmt.Sprintf("refused within p50 %v, p99 %v, the slowest told within %v; %d goroutines beside the callers', %d bytes a caller",
		round(m.refused[len(m.refused)/2]), round(m.p99()), round(m.slowest), m.routines, m.perCaller)
}

// late is how late a crowd is in the 99th percentile that waits as long by a timer alone, and works before
// and after it about as much as a call that waits in vain.
func (s *scene) late() time.Duration {
	late, wait := make([]time.Duration, crowdSize), s.kind.wait(s.Redis)
	atOnce(crowdSize, func(caller int) {
		began := time.Now()
		s.work()
		<-time.After(wait)
		s.work()
		late[caller] = time.Since(began) - wait
	}, func() {})
	slices.Sort(late)
	return late[crowdSize*99/100]
}

// work is a few calls that are refused as soon as they are understood, for want of time.
func (s *scene) work() {
	over, cancel := context.WithDeadline(context.Background(), time.Now())
	defer cancel()
	for range 4 {
		s.evaluate(over, questionOf(s.ways()[0]))
	}
}

// measure has a crowd ask, each for a subject of his own, and demands that nothing was charged and little was used.
func (s *scene) measure() measurement {
	s.t.Helper()
	var m measurement
	took, answers := make([]time.Duration, crowdSize), make([]string, crowdSize)
	questions := s.questionsOf(crowdSize)
	states, before := len(s.states()), memory()
	var watching *watch
	atOnce(crowdSize, func(caller int) {
		began := time.Now()
		answers[caller] = s.ask(questions[caller])
		took[caller] = time.Since(began)
	}, func() { watching = beginWatch() })
	routines, used := watching.end()
	m.routines, m.perCaller = routines, (max(used, before)-before)/crowdSize
	for i, said := range answers {
		if strings.HasPrefix(said, "unavailable") {
			m.refused = append(m.refused, took[i])
		}
	}
	if len(m.refused) == 0 {
		s.t.Fatalf("nobody was refused: %v", s.heard)
	}
	slices.Sort(m.refused)
	m.slowest = slices.Max(took)
	s.expectHeard("unavailable CONNECTION", "unavailable OVERLOADED", "indeterminate")
	// Within the wait, which is not longer than a command's time, places are taken once and once again.
	if doubtful, most := crowdSize-len(m.refused), 2*s.Redis.MaxInFlight; doubtful > most {
		s.t.Errorf("%d are in doubt, want %d at most", doubtful, most)
	}
	if charged := len(s.states()) - states; charged != 0 {
		s.t.Errorf("%d subjects were charged, want none", charged)
	}
	if m.routines > mostRoutines || m.perCaller > mostPerCaller {
		s.t.Errorf("%d goroutines beside the callers' and %d bytes a caller, want at most %d and %d", m.routines, m.perCaller, mostRoutines, mostPerCaller)
	}
	return m
}
