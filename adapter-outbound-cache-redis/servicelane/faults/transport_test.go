package faults_test

import (
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
)

// transportTimeout is of a command: long beside the time that a group takes to come together.
const transportTimeout = 1600 * time.Millisecond

// admitted stands for the first admission of a subject.
var admitted = rig.Allowed(rig.Limit - 1)

// lineBreak is what can happen to one command on its way.
type lineBreak struct {
	sentence string
	fault    redistest.Fault
	heard    string // by each caller whose command met it
	charged  int64  // to each
}

var breaks = []lineBreak{
	{"the reply is lost", redistest.LoseReply(), "indeterminate", 1},
	{"half of the reply arrives", redistest.HalfReply(), "indeterminate", 1},
	{"the connection is reset before the server sees the command", redistest.ResetBefore(), "indeterminate", 0},
	{"the connection is reset after the server ran the command", redistest.ResetAfter(), "indeterminate", 1},
	{"the reply never comes on a connection that stays open", redistest.Silence(), "indeterminate", 1},
	{"the network swallows the command", redistest.Swallow(), "indeterminate", 0},
	{"the reply is late, within the command timeout", redistest.Delay(transportTimeout * 3 / 4), admitted, 1},
	{"the reply is late, beyond the command timeout", redistest.Delay(transportTimeout * 5 / 4), "indeterminate", 1},
	{"the reply is garbage", redistest.Replace([]byte("\x00\xff garbage\r\n")), "incompatible REPLY", 1},
	{"the reply is whole and of another program", redistest.Replace([]byte("*2\r\n:1\r\n$7\r\nALLOWED\r\n")), "incompatible REPLY", 1},
	{"the reply is longer than any", redistest.Replace(longReply()), "incompatible REPLY", 1},
}

func longReply() []byte {
	return append(append([]byte("$65536\r\n"), make([]byte, 65536)...), "\r\n"...)
}

// lanesCallers are callers at once, for whose calls connections are shared as they come.
const lanesCallers = 48

// A command that breaks leaves the doubt that there is and is charged at most once: to one caller alone, to each of a
// batch, and to each of many whose commands all break for a while.
func TestTransport_whatBreaksIsNeverChargedTwiceNorCalledCertain(t *testing.T) {
	each(t, func(t *testing.T, k *kind) {
		for _, row := range breaks {
			t.Run(row.sentence, func(t *testing.T) {
				t.Parallel()
				k.stage(t, nil, roomy(transportTimeout)).meetBreak(row)
			})
		}
	})
}

func (s *scene) meetBreak(row lineBreak) {
	var met []question
	for _, way := range s.ways() {
		q := questionOf(way)
		s.Link.Fault("EVALSHA", 1, row.fault)
		s.demand(q, row.heard)
		met = append(met, q)
	}
	if s.edge != nil {
		met = append(met, s.meetBreakInBatches(row)...)
	}
	for _, q := range met {
		s.expectCharged(q, row.charged)
	}
	s.Link.Fault("EVALSHA", -1, row.fault)
	questions, answers := s.crowd(lanesCallers)
	s.Link.Heal()
	took := s.recovers()
	for i, q := range questions {
		s.expectHonest(q, answers[i])
	}
	switch {
	case row.heard == admitted && s.edge != nil: // no caller has noticed anything
		s.expectHeard("allowed")
		s.record(row.sentence, "all were served")
	case row.heard == admitted: // a call of the log has no more time than its command, also to wait for a connection
		s.expectHeard("allowed", "indeterminate", "unavailable CONNECTION")
		served := s.count("allowed") - int64(len(met))
		if served < lanesCallers/2 {
			s.t.Errorf("%d of %d at once were served", served, lanesCallers)
		}
		s.record(row.sentence, "%d of %d at once were served", served, lanesCallers)
	default: // behind a command that breaks its connection others are in doubt, and dials are cut
		s.expectHeard(class(row.heard), "indeterminate", "unavailable CONNECTION")
		s.record(row.sentence, "served again within %v", round(took))
	}
	s.goesOn(met...)
}

// meetBreakInBatches has a batch under each policy meet it.
func (s *scene) meetBreakInBatches(row lineBreak) (met []question) {
	for _, policy := range s.ways() {
		s.settles()
		g := s.gather(batchOf(policy)...)
		s.Link.Fault("EVALSHA", 1, row.fault)
		// What the server saw it ran, for all eight at once.
		g.send()
		s.settles()
		if commands := g.commands(); commands != row.charged {
			s.t.Errorf("%s: the server saw %d commands of %d callers, want %d", policy, commands, batchSize, row.charged)
		}
		g.demand(row.heard)
		met = append(met, g.questions...)
	}
	return met
}
