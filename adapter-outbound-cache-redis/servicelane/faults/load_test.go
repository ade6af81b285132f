package faults_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

const (
	loadCallers  = 24
	loadPlaces   = 32
	loadGroup    = loadPlaces / 4 // calls on a connection at once, at most
	loadTimeout  = 3 * time.Second
	beyondLimit  = 1_000_000 // a limit that no test reaches
	bucketPeriod = 366 * 24 * time.Hour
)

// underLoad suits callers who may wait, so that what they hear is the fault's doing and not the machine's.
func underLoad(o *options) {
	o.MaxInFlight, o.AdmissionWait, o.CommandTimeout = loadPlaces, rig.Patience, loadTimeout
	o.DialTimeout, o.BreakerFailures = patientDial, never
}

// policiesBeyond are of a limit that is not reached, and free nothing.
func policiesBeyond(t *testing.T) []ratelimit.Policy {
	return []ratelimit.Policy{
		rig.Policy(t, ratelimit.FixedWindow{Limit: beyondLimit, Window: 366 * 24 * time.Hour}),
		rig.Policy(t, ratelimit.SlidingWindowCounter{Limit: beyondLimit, Window: 100 * 24 * time.Hour}),
		rig.Policy(t, ratelimit.TokenBucket{Capacity: beyondLimit, RefillTokens: beyondLimit, RefillPeriod: bucketPeriod}),
	}
}

// load is callers who ask without a pause, of one subject in each way, until they are stopped.
type load struct {
	scene    *scene
	subjects []question
	told     []tally // by subject
	stopping atomic.Bool
	callers  sync.WaitGroup
}

// tally counts what was told of one subject.
type tally struct{ admitted, doubtful atomic.Int64 }

// begin lets callers ask of the subjects in turn.
func (s *scene) begin(callers int) *load {
	l := &load{scene: s, told: make([]tally, len(s.ways()))}
	for _, way := range s.ways() {
		l.subjects = append(l.subjects, questionOf(way))
	}
	for caller := range callers {
		l.callers.Go(func() {
			for i := caller; !l.stopping.Load(); i++ {
				l.askOnce(i % len(l.subjects))
			}
		})
	}
	return l
}

func (l *load) askOnce(i int) {
	switch class(l.scene.ask(l.subjects[i])) {
	case "allowed":
		l.told[i].admitted.Add(1)
	case l.scene.word("indeterminate"):
		l.told[i].doubtful.Add(1)
	case "denied":
	default:
		<-time.After(time.Millisecond) // who is refused at once would ask for nothing but the machine
	}
}

func (l *load) stop() {
	l.stopping.Store(true)
	l.callers.Wait()
}

// awaitCalls waits until so many more were told a class.
func (l *load) awaitCalls(class string, n int64) {
	l.scene.t.Helper()
	before := l.scene.count(class)
	l.scene.Eventually("hear "+class, func() bool { return l.scene.count(class) >= before+n })
}

// servedAfter tells whether anybody was given a decision after now.
func (l *load) servedAfter() func() bool {
	served := func() int64 { return l.scene.count("allowed") + l.scene.count("denied") }
	before := served()
	return func() bool { return served() > before }
}

// expectCharged demands that each subject was charged what was admitted, and what is in doubt at most once.
func (l *load) expectCharged() {
	l.scene.t.Helper()
	for i, q := range l.subjects {
		admitted, doubtful := l.told[i].admitted.Load(), l.told[i].doubtful.Load()
		l.scene.expectChargedWithin(q, admitted, admitted+doubtful)
	}
}

// A script cache that is lost all the time costs round trips and nothing else.
func TestLoad_scriptsAreFlushedAllTheTime(t *testing.T) {
	each(t, scriptsAreFlushed)
}

func scriptsAreFlushed(t *testing.T, k *kind) {
	s := k.stage(t, nil, underLoad, unlimited)
	l := s.begin(loadCallers)
	flushes := 0
	s.Eventually("send its sources often", func() bool {
		s.do("SCRIPT", "FLUSH")
		flushes++
		return s.server.Calls(t, "eval") >= 100
	})
	l.stop()
	for i, q := range l.subjects {
		s.expectCharged(q, l.told[i].admitted.Load())
	}
	s.expectHeard("allowed")
	s.record("SCRIPT FLUSH under load", "%d flushes, %d sources sent again; no call failed", flushes, s.server.Calls(t, "eval"))
}

// Connections that the server kills cost a caller at most two calls each time, each of which is charged at most once: the
// one that was on its way, and one that was sent before the news of the end arrived. Many more connections are idle, and
// nobody is sent on one that is known to have ended.
func TestLoad_connectionsAreKilledAllTheTime(t *testing.T) {
	each(t, connectionsAreKilled)
}

func connectionsAreKilled(t *testing.T, k *kind) {
	const times = 20
	s := k.stage(t, nil, underLoad, unlimited)
	l := s.begin(loadCallers)
	killed := int64(0)
	for range times {
		l.awaitCalls("allowed", 150)
		killed += s.do("CLIENT", "KILL", "TYPE", "normal").(int64)
	}
	l.awaitCalls("allowed", 150)
	l.stop()
	l.expectCharged()
	s.expectHeard("allowed", "indeterminate", "unavailable CONNECTION")
	doubtful, failed := s.count("indeterminate"), s.count("indeterminate")+s.count("unavailable CONNECTION")
	if doubtful == 0 {
		t.Errorf("%d connections were killed, and no call was on one", killed)
	}
	if most := int64(2 * times * loadCallers); failed > most {
		t.Errorf("%d calls of %d callers failed by %d kills, want %d at most", failed, loadCallers, times, most)
	}
	s.recovers()
	s.record("CLIENT KILL TYPE normal under load", "%d connections were killed in %d kills, which cost %d calls; served on after each", killed, times, failed)
}

// A server that loses its data under load gives each subject its limit once more, exactly: one lost history is one more
// allowance.
func TestLoad_dataThatIsLostIsOneMoreLimit(t *testing.T) {
	rows := []struct {
		sentence string
		lose     func(s *scene, l *load) (followed string)
		heard    []string
	}{
		{"FLUSHALL under load", flushes, []string{"allowed", "denied"}},
		{
			"the server is killed and comes back empty under load", comesBackEmpty,
			[]string{"allowed", "denied", "indeterminate", "unavailable CONNECTION", "unavailable SERVER"},
		},
	}
	each(t, func(t *testing.T, k *kind) {
		for _, row := range rows {
			t.Run(row.sentence, func(t *testing.T) {
				t.Parallel()
				s := k.stage(t, nil, underLoad)
				l := s.begin(loadCallers)
				l.awaitDenials()
				for _, q := range l.subjects {
					s.expectCharged(q, rig.Limit)
				}
				followed := row.lose(s, l)
				l.awaitDenials()
				l.stop()
				var admitted []string
				for i, q := range l.subjects {
					got := l.told[i].admitted.Load()
					if got != 2*rig.Limit {
						t.Errorf("%s: %d admitted over one lost history, want %d", q.way, got, 2*rig.Limit)
					}
					admitted = append(admitted, fmt.Sprint(got))
					s.expectCharged(q, rig.Limit)
				}
				s.expectHeard(row.heard...)
				s.recovers()
				evidence.Record(t, fmt.Sprintf("%s, %s: admitted of a limit of %d", row.sentence, k.name, rig.Limit), "%s",
					strings.Join(admitted, " and "))
				s.record(row.sentence, "each subject had its limit once more; %s", followed)
			})
		}
	})
}

func flushes(s *scene, _ *load) string {
	s.do("FLUSHALL")
	return "no call failed"
}

// comesBackEmpty has lost the scripts as well.
func comesBackEmpty(s *scene, l *load) string {
	s.server.Kill(s.t)
	s.server.Restart(s.t)
	took := s.Eventually("serve again", l.servedAfter())
	sources := s.server.Calls(s.t, "eval")
	if sources == 0 {
		s.t.Errorf("the server that came back was sent no source, and served")
	}
	return fmt.Sprintf("the scripts were lost and %d sources sent by then; served again within %v of its start", sources, round(took))
}

// awaitDenials waits until each subject has been charged its limit and more were denied.
func (l *load) awaitDenials() {
	l.scene.t.Helper()
	for _, q := range l.subjects {
		l.scene.Eventually("reach the limit of "+q.way, func() bool { return l.scene.charged(q) == rig.Limit })
	}
	l.awaitCalls("denied", 2*loadCallers)
}
