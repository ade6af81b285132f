package faults_test

import (
	"fmt"
	"testing"
	"time"
)

// Nobody answers: callers who have a connection are in doubt, the others are refused, and the breaker opens, with
// nothing charged that was not heard of as doubt.
func TestStandstill_nobodyAnswers(t *testing.T) {
	rows := []struct {
		sentence     string
		enter, leave func(s *scene)
		charged      int64 // to who had a connection
	}{
		{
			"the network takes everything (black hole)",
			func(s *scene) { s.Link.Blackhole() }, func(s *scene) { s.Link.Heal() }, 0,
		},
		{
			"the server stands still (SIGSTOP)",
			func(s *scene) { s.server.Pause(s.t) }, func(s *scene) { s.server.Resume(s.t) }, 1,
		},
	}
	each(t, func(t *testing.T, k *kind) {
		for _, row := range rows {
			t.Run(row.sentence, func(t *testing.T) {
				t.Parallel()
				s := k.stage(t, nil)
				row.enter(s)
				lost := s.alone("indeterminate")
				questions, answers := s.crowd(lanesCallers)
				s.Eventually("open the breaker", func() bool {
					q := questionOf(s.ways()[0])
					questions, answers = append(questions, q), append(answers, s.ask(q))
					return s.Connection.Breaker() == "open"
				})
				refused := questionOf(s.ways()[0])
				s.demand(refused, "unavailable CONNECTION")
				s.Eventually("tell that it is not ready", func() bool { return !s.Connection.Health().Ready })
				row.leave(s)
				took := s.recovers()
				// What the server had been sent it runs once it goes on.
				for _, q := range lost {
					s.Eventually("run what was sent", func() bool { return s.charged(q) >= row.charged })
					s.expectCharged(q, row.charged)
				}
				for i, q := range questions {
					s.expectHonest(q, answers[i])
				}
				s.expectCharged(refused, 0)
				s.expectHeard("indeterminate", "unavailable CONNECTION", "unavailable OVERLOADED")
				s.record(row.sentence, "the breaker opened; served again within %v", round(took))
				s.goesOn(lost...)
			})
		}
	})
}

// Nobody listens: every caller is refused for certain, and so is whoever comes while the breaker is open.
func TestStandstill_nobodyListens(t *testing.T) {
	rows := []struct {
		sentence     string
		enter, leave func(s *scene)
	}{
		{
			"the port is refused", func(s *scene) { s.Link.Refuse(); s.Link.Cut() }, func(s *scene) { s.Link.Heal() },
		},
		{
			"the server is dead (SIGKILL)",
			func(s *scene) { s.server.Kill(s.t) }, func(s *scene) { s.server.Restart(s.t) },
		},
	}
	each(t, func(t *testing.T, k *kind) {
		for _, row := range rows {
			t.Run(row.sentence, func(t *testing.T) {
				t.Parallel()
				const want = "unavailable CONNECTION"
				// So many that callers meet what the breaker otherwise keeps from them.
				s := k.stage(t, nil, func(o *options) { o.BreakerFailures = 4 * lanesCallers })
				row.enter(s)
				s.Eventually("notice it", func() bool { return s.say(questionOf(s.ways()[0])) == s.word(want) })
				asked := s.alone(want)
				if breaker := s.Connection.Breaker(); breaker != "closed" {
					t.Errorf("the breaker is %s, and nobody met the refusal itself", breaker)
				}
				questions, _ := s.crowd(lanesCallers)
				s.Eventually("open the breaker", func() bool {
					asked = append(asked, s.alone(want)...)
					return s.Connection.Breaker() == "open"
				})
				s.Eventually("tell that it is not ready", func() bool { return !s.Connection.Health().Ready })
				row.leave(s)
				took := s.recovers()
				for _, q := range append(asked, questions...) {
					s.expectCharged(q, 0)
				}
				s.expectHeard(want)
				s.record(row.sentence, "the breaker opened; served again within %v", round(took))
			})
		}
	})
}

// A server whose clients are paused decides when the pause ends, or leaves who cannot wait in doubt.
func TestStandstill_clientsArePaused(t *testing.T) {
	const timeout = time.Second
	each(t, func(t *testing.T, k *kind) {
		for _, mode := range []string{"ALL", "WRITE"} {
			for _, row := range []struct {
				sentence      string
				pause         time.Duration
				heard         string
				least, charge int64
			}{
				{"for less than the command timeout", timeout / 4, admitted, 1, 1},
				{"for longer than the command timeout", timeout * 3 / 2, "indeterminate", 0, 1},
			} {
				name := fmt.Sprintf("CLIENT PAUSE %s, %s", mode, row.sentence)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					s := k.stage(t, nil, func(o *options) {
						o.CommandTimeout, o.AdmissionWait, o.BreakerFailures = timeout, 2*timeout, never
					})
					var asked []question
					for _, way := range s.ways() {
						q := questionOf(way)
						s.do("CLIENT", "PAUSE", fmt.Sprint(row.pause.Milliseconds()), mode)
						s.demand(q, row.heard)
						asked = append(asked, q)
					}
					paused := time.Now()
					s.do("CLIENT", "PAUSE", fmt.Sprint(row.pause.Milliseconds()), mode)
					questions, answers := s.crowd(lanesCallers)
					s.recovers()
					took := time.Since(paused) - row.pause
					for _, q := range asked {
						s.expectChargedWithin(q, row.least, row.charge)
					}
					for i, q := range questions {
						s.expectHonest(q, answers[i])
					}
					if row.heard == admitted { // no caller has noticed anything
						s.expectHeard("allowed")
						s.record(name, "all were served")
					} else {
						s.expectHeard("allowed", "indeterminate", "unavailable OVERLOADED", "unavailable CONNECTION")
						s.record(name, "served again within %v of the pause's end", round(took))
					}
					s.goesOn(asked...)
				})
			}
		}
	})
}
