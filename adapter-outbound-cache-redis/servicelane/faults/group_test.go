package faults_test

import (
	"sync"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
)

// batchSize are callers whose calls go in one command.
const batchSize = 8

// patientDial is long beside what a busy machine makes of a dial.
const patientDial = 5 * time.Second

// roomy gives a group its places and its callers the time to come together.
func roomy(timeout time.Duration) func(*options) {
	return func(o *options) {
		o.MaxInFlight, o.AdmissionWait, o.CommandTimeout = 128, rig.Patience/2, timeout
		o.DialTimeout, o.BreakerFailures = patientDial, never
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
	s.Eventually("be at rest", func() bool {
		stats := s.Connection.Stats()
		return stats.Dialing == 0 && stats.InFlight == 0 && stats.Open > 0
	})
	open, sent := s.Connection.Stats().Open, s.Link.Forwarded("EVALSHA")
	g.before = s.programs() + int64(open)
	s.server.Pause(s.t)
	for i := range open {
		g.occupiers.Go(func() { s.say(questionOf(s.ways()[0])) })
		s.Eventually("have a call on each connection", func() bool { return s.Connection.Stats().InFlight > i })
	}
	s.Eventually("send them", func() bool { return s.Link.Forwarded("EVALSHA") == sent+int64(open) })
	for i, q := range questions {
		g.callers.Go(func() { g.answers[i] = s.ask(q) })
		s.Eventually("stand in line", func() bool { return s.Connection.Stats().Waiting == i+1 })
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
	s.Eventually("be settled", func() bool { return s.Connection.Health().Ready })
}

// demand fails unless every caller heard want.
func (g *group) demand(want string) {
	g.scene.t.Helper()
	g.scene.demandOfAll(g.questions, g.answers, want)
}

// batchOf are questions under one policy, which go in one command.
func batchOf(policy string) []question {
	var questions []question
	for range batchSize {
		questions = append(questions, questionOf(policy))
	}
	return questions
}

// questionsOf are so many, asked in each way in turn.
func (s *scene) questionsOf(n int) []question {
	questions, ways := make([]question, n), s.ways()
	for i := range questions {
		questions[i] = questionOf(ways[i%len(ways)])
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
