package faults_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
)

// account is of the evaluations that were asked for while a fault lasted: what each was told, and what the server
// charged for all.
type account struct {
	mu    sync.Mutex
	heard map[string]int64 // by class
	bill  int64
}

// ask evaluates and enters what was heard. It may be called from several goroutines.
func (s *scene) ask(q question) string {
	said := s.say(q)
	s.enter(said)
	return said
}

func (s *scene) enter(said string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard[class(said)]++
}

// class is an outcome without its numbers.
func class(said string) string {
	if word := first(said); word == "allowed" || word == "denied" {
		return word
	}
	return said
}

// word is what this limiter says where the edge port says said. What a row wants is written in the words of the edge
// port.
func (s *scene) word(said string) string { return s.kind.word(said) }

// demand asks, and fails unless want was heard.
func (s *scene) demand(q question, want string) {
	s.t.Helper()
	if got := s.ask(q); got != s.word(want) {
		s.t.Errorf("%s, cost %d: got %s, want %s", q.way, q.cost, got, s.word(want))
	}
}

// demandOfAll fails unless each who asked heard want.
func (s *scene) demandOfAll(questions []question, answers []string, want string) {
	s.t.Helper()
	for i, q := range questions {
		if answers[i] != s.word(want) {
			s.t.Errorf("%s, caller %d of many: got %s, want %s", q.way, i, answers[i], s.word(want))
		}
	}
}

// alone asks once in each way, of a new subject, and answers what was asked.
func (s *scene) alone(want string) []question {
	s.t.Helper()
	var asked []question
	for _, way := range s.ways() {
		q := questionOf(way)
		s.demand(q, want)
		asked = append(asked, q)
	}
	return asked
}

// count is how many were told a class.
func (s *scene) count(class string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard[s.word(class)]
}

// expectHeard fails if anything else than these classes was heard.
func (s *scene) expectHeard(classes ...string) {
	s.t.Helper()
	var words []string
	for _, class := range classes {
		words = append(words, s.word(class))
	}
	for heard, n := range s.heard {
		if !slices.Contains(words, heard) {
			s.t.Errorf("%d heard %s, want %s alone", n, heard, strings.Join(words, " or "))
		}
	}
}

// expectCharged demands what the server charged for questions of the account and enters it. Each subject is asked
// about once.
func (s *scene) expectCharged(q question, want int64) {
	s.t.Helper()
	s.expectChargedFrom(q, 0, want, want)
}

// expectChargedWithin is expectCharged where a range is all that is promised.
func (s *scene) expectChargedWithin(q question, least, most int64) int64 {
	s.t.Helper()
	return s.expectChargedFrom(q, 0, least, most)
}

// expectChargedFrom is expectChargedWithin for a subject that had been charged before the fault.
func (s *scene) expectChargedFrom(q question, before, least, most int64) int64 {
	s.t.Helper()
	got := s.charged(q) - before
	s.bill += got
	if got < least || got > most {
		s.t.Errorf("%s: the server charged %d, want %d to %d", q.way, got, least, most)
	}
	return got
}

// expectChargedSince is expectCharged for a subject that had been charged before the fault.
func (s *scene) expectChargedSince(q question, before, want int64) {
	s.t.Helper()
	s.expectChargedFrom(q, before, want, want)
}

// expectHonest fails if what the server charged for a question contradicts what was said of it: an allowance is charged
// once, what is in doubt or not understood at most once, and nothing else is.
func (s *scene) expectHonest(q question, said string) {
	s.t.Helper()
	var least, most int64
	switch first(said) {
	case "allowed":
		least, most = q.cost, q.cost
	case "indeterminate", "unknown", "incompatible":
		most = q.cost
	}
	s.expectChargedWithin(q, least, most)
}

// record keeps the row.
func (s *scene) record(name, followed string, args ...any) {
	s.t.Helper()
	calls, heard := int64(0), []string{}
	for _, class := range slices.Sorted(maps.Keys(s.heard)) {
		calls += s.heard[class]
		heard = append(heard, class)
	}
	if len(heard) > 1 {
		for i, class := range heard {
			heard[i] = fmt.Sprintf("%s %d", class, s.heard[class])
		}
	}
	evidence.RecordFault(s.t, evidence.Fault{
		Name: name, Limiter: s.kind.name, Calls: calls, Heard: strings.Join(heard, ", "), Charged: s.bill,
		Followed: fmt.Sprintf(followed, args...),
	})
}

// round is a time as the page shows it.
func round(d time.Duration) time.Duration {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond)
	case d < 10*time.Millisecond:
		return d.Round(100 * time.Microsecond)
	default:
		return d.Round(time.Millisecond)
	}
}
