package faults_test

import (
	"sync"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
)

// batchSize are callers whose calls go in one command.
const batchSize = 8

// patientDial is long beside what a busy machine makes of a dial.
const patientDial = 5 * time.Second

// roomy gives a group its places and its callers the time to come together.
func roomy(timeout time.Duration) func(*redislimit.Config) {
	return func(c *redislimit.Config) {
		c.Redis.MaxInFlight, c.Redis.AdmissionWait, c.Redis.CommandTimeout = 128, rig.Patience/2, timeout
		c.Redis.DialTimeout, c.Redis.BreakerFailures = patientDial, 1<<30
	}
}

// group is callers who wait in line together.
type group struct {
	scene     *scene
	questions []question
	answers   []string
	before    int64 // programs sent, the group's not among them
	callers   sync.WaitGroup
	occupiers sync.WaitGroup
}

// gather stops the server, has a call stand still on each connection, and lines up the questions in their order.
// Faults of EVALSHA that are set now meet the group.
func (s *scene) gather(questions ...question) *group {
	s.t.Helper()
	g := &group{scene: s, questions: questions, answers: make([]string, len(questions))}
	connection := s.Provider.Connection()
	s.Eventually("be at rest", func() bool {
		stats := connection.Stats()
		return stats.Dialing == 0 && stats.InFlight == 0 && stats.Open > 0
	})
	open, sent := connection.Stats().Open, s.Link.Forwarded("EVALSHA")
	g.before = s.programs() + int64(open)
	s.server.Pause(s.t)
	for i := range open {
		g.occupiers.Go(func() { s.Evaluate(s.Config.Policies[0].ID(), rig.Subject(), 1) })
		s.Eventually("have a call on each connection", func() bool { return connection.Stats().InFlight > i })
	}
	s.Eventually("send them", func() bool { return s.Link.Forwarded("EVALSHA") == sent+int64(open) })
	for i, q := range questions {
		g.callers.Go(func() { g.answers[i] = s.ask(q) })
		s.Eventually("stand in line", func() bool { return connection.Stats().Waiting == i+1 })
	}
	return g
}

// send lets the server go on, and with it the group, and waits for all.
func (g *group) send() {
	g.scene.t.Helper()
	g.scene.server.Resume(g.scene.t)
	g.callers.Wait()
	g.occupiers.Wait()
}

// commands is in how many the group went. The provider must be settled, or have been refused a look since before.
func (g *group) commands() int64 { return g.scene.programs() - g.before }

// programs is how many the server was sent by callers. A look that passes, which the provider begins by itself when the
// server has stood still, sends four by EVALSHA as well, and then asks twice for INFO.
func (s *scene) programs() int64 {
	return s.Link.Forwarded("EVALSHA") - 4*s.Link.Forwarded("INFO")/2
}

// settles waits for the end of a look that may be under way.
func (s *scene) settles() {
	s.t.Helper()
	s.Eventually("be settled", func() bool { return s.Provider.Connection().Health().Ready })
}

// demand fails unless every caller heard want.
func (g *group) demand(want string) {
	g.scene.t.Helper()
	for i, got := range g.answers {
		if got != want {
			g.scene.t.Errorf("%s, caller %d of a group: got %s, want %s", g.questions[i].policy, i, got, want)
		}
	}
}

// batchOf are questions of one policy, which go in one command.
func batchOf(policy string) []question {
	var questions []question
	for range batchSize {
		questions = append(questions, questionOf(policy))
	}
	return questions
}

// questionsOf are so many, of all policies in turn.
func (s *scene) questionsOf(n int) []question {
	questions := make([]question, n)
	for i := range questions {
		questions[i] = questionOf(s.Config.Policies[i%len(s.Config.Policies)].ID())
	}
	return questions
}

// crowd asks n questions at once and answers what each heard.
func (s *scene) crowd(n int) ([]question, []string) {
	questions, answers := s.questionsOf(n), make([]string, n)
	atOnce(n, func(caller int) { answers[caller] = s.ask(questions[caller]) }, func() {})
	return questions, answers
}

// atOnce has n callers call at one moment, when all are there and ready has returned, and waits for them.
func atOnce(n int, call func(caller int), ready func()) {
	begin := make(chan struct{})
	var waiting, all sync.WaitGroup
	waiting.Add(n)
	for caller := range n {
		all.Go(func() {
			waiting.Done()
			<-begin
			call(caller)
		})
	}
	waiting.Wait()
	ready()
	close(begin)
	all.Wait()
}
