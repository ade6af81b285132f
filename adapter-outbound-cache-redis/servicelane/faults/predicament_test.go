package faults_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
)

// predicaments are what a server can be in, in which it proves by an error reply that nothing ran.
var predicaments = []struct {
	sentence string
	enter    func(s *scene) (leave func())
	denies   bool // who is over his limit is still denied
}{
	{
		sentence: "LOADING: it reads its data set",
		enter: func(s *scene) func() {
			s.do("DEBUG", "POPULATE", "30000", "load", "100")
			s.do("CONFIG", "SET", "key-load-delay", "100", "loading-process-events-interval-bytes", "1024")
			s.block("DEBUG", "RELOAD")
			return func() { s.do("CONFIG", "SET", "key-load-delay", "0") }
		},
	},
	{
		sentence: "BUSY: a script of somebody else does not end",
		enter: func(s *scene) func() {
			s.do("CONFIG", "SET", "busy-reply-threshold", "1")
			s.block("EVAL", "while true do end", "0")
			return func() { s.do("SCRIPT", "KILL") }
		},
	},
	{
		sentence: "READONLY: it is a replica",
		enter:    isReplica,
		denies:   true,
	},
	{
		sentence: "MASTERDOWN: it is a replica that does not serve what is stale",
		enter: func(s *scene) func() {
			s.do("CONFIG", "SET", "replica-serve-stale-data", "no")
			return isReplica(s)
		},
	},
	{
		sentence: "NOREPLICAS: too few replicas follow it",
		enter: func(s *scene) func() {
			s.do("CONFIG", "SET", "min-replicas-to-write", "1")
			return func() { s.do("CONFIG", "SET", "min-replicas-to-write", "0") }
		},
		denies: true,
	},
	{
		sentence: "MISCONF: it cannot save",
		enter: func(s *scene) func() {
			// No file can have so long a name.
			s.do("CONFIG", "SET", "save", "3600 1000000", "dbfilename", strings.Repeat("x", 300))
			s.do("BGSAVE")
			return func() { s.do("CONFIG", "SET", "stop-writes-on-bgsave-error", "no") }
		},
		denies: true,
	},
	{
		sentence: "max number of clients reached: it takes no connection",
		enter: func(s *scene) func() {
			inside := s.staysInside()
			inside("CONFIG SET maxclients 1")
			s.Link.Cut()
			return func() { inside("CONFIG SET maxclients 1000") }
		},
	},
}

func isReplica(s *scene) func() {
	s.do("REPLICAOF", "127.0.0.1", "1")
	return func() { s.do("REPLICAOF", "NO", "ONE") }
}

// staysInside has a connection of its own over which commands are sent when the server takes no other.
func (s *scene) staysInside() func(command string) {
	s.t.Helper()
	conn, err := net.DialTimeout("tcp", s.server.Addr(), rig.Patience)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	replies := bufio.NewReader(conn)
	return func(command string) {
		s.t.Helper()
		_ = conn.SetDeadline(time.Now().Add(rig.Patience))
		if _, err := fmt.Fprintf(conn, "%s\r\n", command); err != nil {
			s.t.Fatalf("%s: %v", command, err)
		}
		if reply, err := replies.ReadString('\n'); err != nil || reply != "+OK\r\n" {
			s.t.Fatalf("%s: got %q, %v", command, reply, err)
		}
	}
}

func TestPredicament_whatProvesThatNothingRanChargesNothing(t *testing.T) {
	const want = "unavailable SERVER"
	each(t, func(t *testing.T, k *kind) {
		for _, row := range predicaments {
			t.Run(row.sentence, func(t *testing.T) {
				t.Parallel()
				s := k.stage(t, []string{"--enable-protected-configs", "yes"}, roomy(2*time.Second), func(o *options) { o.BreakerFailures = 5 }, k.shut)
				before, spent := s.admit(1), s.admit(rig.Limit)
				leave := row.enter(s)
				s.Eventually("show it", func() bool {
					return s.say(questionOf(s.ways()[0])) == s.word(want)
				})
				asked := s.alone(want)
				for _, q := range before {
					s.demand(q, want)
				}
				if row.denies {
					for _, q := range spent {
						s.demand(q.one(), "denied 0")
					}
				}
				questions, answers := s.crowd(lanesCallers)
				s.demandOfAll(questions, answers, want)
				if breaker := s.Connection.Breaker(); !k.countsAnswers && breaker != "closed" {
					t.Errorf("the breaker is %s after answers, want closed", breaker)
				}
				leave()
				took := s.recovers()
				for _, q := range append(asked, questions...) {
					s.expectCharged(q, 0)
				}
				for _, q := range before {
					s.expectChargedSince(q, 1, 0)
				}
				s.record(row.sentence, "served again within %v", round(took))
				s.goesOn(before...)
			})
		}
	})
}

// The log's breaker counts what the server refuses in words: it opens, nothing more is sent, and it closes by itself.
func TestPredicament_opensTheBreakerOfTheLog(t *testing.T) {
	t.Parallel()
	const want = "unavailable SERVER"
	s := slidingLog.stage(t, nil)
	s.do("CONFIG", "SET", "min-replicas-to-write", "1")
	var asked []question
	for n := range s.Redis.BreakerFailures {
		if breaker := s.Connection.Breaker(); breaker != "closed" {
			t.Fatalf("the breaker is %s after %d refusals, want closed", breaker, n)
		}
		q := questionOf(s.ways()[n%len(s.ways())])
		s.demand(q, want)
		asked = append(asked, q)
	}
	if breaker := s.Connection.Breaker(); breaker != "open" {
		t.Errorf("the breaker is %s after %d refusals, want open", breaker, len(asked))
	}
	s.do("CONFIG", "SET", "min-replicas-to-write", "0")
	took := s.recovers()
	for _, q := range asked {
		s.expectCharged(q, 0)
	}
	s.record("NOREPLICAS: as often as the breaker allows", "the breaker opened; served again within %v", round(took))
}
