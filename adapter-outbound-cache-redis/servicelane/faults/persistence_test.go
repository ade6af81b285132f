package faults_test

import (
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
)

const persistenceCallers = 4

// What a server that is killed under load has lost of what it had acknowledged, by how it writes its append-only file.
// The machine stays up, and with it what its kernel has taken and not yet put on the disk: a loss of power would cost
// more, and is not tested.
func TestPersistence_anAppendOnlyFileKeepsWhatItPromises(t *testing.T) {
	rows := []struct {
		fsync string
		loses time.Duration // of acknowledged charges, at most
	}{
		{"everysec", 2 * time.Second},
		{"always", 0},
	}
	each(t, func(t *testing.T, k *kind) {
		for _, row := range rows {
			name := "the process alone is killed (SIGKILL) under load with appendfsync " + row.fsync
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := k.stage(t, []string{"--appendonly", "yes", "--appendfsync", row.fsync}, underLoad, unlimited)
				began := time.Now()
				l := s.begin(persistenceCallers)
				var samples []sample
				s.Eventually("be charged for a while", func() bool {
					samples = append(samples, l.sample())
					return time.Since(began) > row.loses+time.Second && s.count("allowed") > 200
				})
				killed := l.sample()
				s.server.Kill(t)
				l.stop()
				s.server.Restart(t)
				took := s.recovers()
				var promised sample
				for _, earlier := range samples {
					if killed.at.Sub(earlier.at) > row.loses {
						promised = earlier
					}
				}
				acknowledged, lost := int64(0), int64(0)
				for i, q := range l.subjects {
					admitted, doubtful := l.told[i].admitted.Load(), l.told[i].doubtful.Load()
					least := admitted
					if row.loses > 0 {
						least = promised.admitted[i]
					}
					kept := s.expectChargedWithin(q, least, admitted+doubtful)
					acknowledged, lost = acknowledged+admitted, lost+max(0, admitted-kept)
				}
				evidence.Record(t, name+", "+k.name+": acknowledged charges lost", "%d of %d", lost, acknowledged)
				s.expectHeard("allowed", "indeterminate", "unavailable CONNECTION")
				s.record(name, "%d of %d acknowledged charges were lost, by a machine that stayed up; served again within %v of its start",
					lost, acknowledged, round(took))
			})
		}
	})
}

// sample is what had been acknowledged at a moment.
type sample struct {
	at       time.Time
	admitted []int64
}

func (l *load) sample() sample {
	at := sample{at: time.Now()}
	for i := range l.told {
		at.admitted = append(at.admitted, l.told[i].admitted.Load())
	}
	return at
}

// A server that reads its data set after a restart refuses until it has it, and then goes on from there.
func TestPersistence_aRestartWithADataSetGoesOnFromIt(t *testing.T) {
	each(t, loadsItsDataSet)
}

func loadsItsDataSet(t *testing.T, k *kind) {
	const keys, microsPerKey, spent = "20000", "50", 7
	s := k.stage(t, []string{"--key-load-delay", microsPerKey, "--loading-process-events-interval-bytes", "1024"}, underLoad)
	before := s.admit(spent)
	s.do("DEBUG", "POPULATE", keys, "other", "100")
	s.do("SAVE")
	s.server.Kill(t)
	l := s.begin(persistenceCallers)
	s.server.Restart(t) // returns once all is loaded
	took := s.Eventually("serve again", l.servedAfter())
	l.awaitCalls("allowed", 50)
	l.stop()
	l.expectCharged()
	for _, q := range before {
		s.expectChargedSince(q, spent, 0)
	}
	if s.count("unavailable SERVER") == 0 {
		t.Errorf("heard %v, and nobody met LOADING", s.heard)
	}
	s.expectHeard("allowed", "denied", "unavailable SERVER", "unavailable CONNECTION", "indeterminate")
	s.record("the server is killed and loads its data set", "the states went on; served again within %v of the data", round(took))
	s.recovers()
	s.goesOn(before...)
}
