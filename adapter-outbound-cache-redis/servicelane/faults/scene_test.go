package faults_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
)

// scene is one fault, a server of its own, and the account of the evaluations that were asked for while it lasted.
type scene struct {
	*rig.Rig
	t      *testing.T
	server server.Server

	mu      sync.Mutex
	heard   map[string]int64 // by class
	charged int64
}

// stage starts a server and opens a provider that is ready.
func stage(t *testing.T, directives []string, changes ...func(*redislimit.Config)) *scene {
	t.Helper()
	own := server.Start(t, directives...)
	return sceneOf(t, own, rig.New(t, own.Addr(), own, changes...))
}

func sceneOf(t *testing.T, own server.Server, r *rig.Rig) *scene {
	return &scene{Rig: r, t: t, server: own, heard: map[string]int64{}}
}

// do sends one command straight to the server, which must not refuse it.
func (s *scene) do(args ...string) any {
	s.t.Helper()
	reply := s.server.Do(s.t, args...)
	if refused, ok := reply.(redistest.ServerError); ok {
		s.t.Fatalf("%q: %v", args, refused)
	}
	return reply
}

// info is a field of the server's INFO.
func (s *scene) info(section, field string) string {
	s.t.Helper()
	for line := range strings.Lines(fmt.Sprint(s.do("INFO", section))) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	s.t.Fatalf("INFO %s has no %s", section, field)
	return ""
}

// block sends a command that does not return for a while.
func (s *scene) block(args ...string) {
	ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
	var done sync.WaitGroup
	done.Go(func() { _, _ = redistest.Witness{Addr: s.server.Addr()}.Ask(ctx, args...) })
	s.t.Cleanup(func() { cancel(); done.Wait() })
}

// question is one evaluation.
type question struct {
	policy, subject string
	cost            int64
}

func questionOf(policy string) question { return question{policy, rig.Subject(), 1} }

// ask evaluates and enters what was heard. It may be called from several goroutines.
func (s *scene) ask(q question) string {
	said := rig.Say(s.Evaluate(q.policy, q.subject, q.cost))
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
	if word, _, _ := strings.Cut(said, " "); word == "allowed" || word == "denied" {
		return word
	}
	return said
}

// demand asks, and fails unless want was heard.
func (s *scene) demand(q question, want string) {
	s.t.Helper()
	if got := s.ask(q); got != want {
		s.t.Errorf("%s, cost %d: got %s, want %s", q.policy, q.cost, got, want)
	}
}

// expectCharged demands what the server charged for questions of the account and enters it. Each subject is asked
// about once.
func (s *scene) expectCharged(q question, want int64) {
	s.t.Helper()
	got := s.Charged(q.policy, q.subject)
	s.charged += got
	if got != want {
		s.t.Errorf("%s, cost %d: the server charged %d, want %d", q.policy, q.cost, got, want)
	}
}

// expectChargedWithin is expectCharged where a range is all that is promised.
func (s *scene) expectChargedWithin(q question, least, most int64) int64 {
	s.t.Helper()
	got := s.Charged(q.policy, q.subject)
	s.charged += got
	if got < least || got > most {
		s.t.Errorf("%s: the server charged %d, want %d to %d", q.policy, got, least, most)
	}
	return got
}

// expectHonest fails if what the server charged for a question contradicts what was said of it: an allowance is charged
// once, what is in doubt or not understood at most once, and nothing else is.
func (s *scene) expectHonest(q question, said string) {
	s.t.Helper()
	var least, most int64
	switch word, _, _ := strings.Cut(said, " "); word {
	case "allowed":
		least, most = q.cost, q.cost
	case "indeterminate", "incompatible":
		most = q.cost
	}
	s.expectChargedWithin(q, least, most)
}

// alone asks once under each policy, of a new subject, and answers what was asked.
func (s *scene) alone(want string) []question {
	s.t.Helper()
	var asked []question
	for _, p := range s.Config.Policies {
		q := questionOf(p.ID())
		s.demand(q, want)
		asked = append(asked, q)
	}
	return asked
}

// recovers waits until each policy allows a new subject, and demands that the breaker is closed and that no key was left
// without a lifetime.
func (s *scene) recovers() time.Duration {
	s.t.Helper()
	took := s.Eventually("serve again", func() bool {
		for _, p := range s.Config.Policies {
			if rig.Say(s.Evaluate(p.ID(), rig.Subject(), 1)) != rig.Allowed(p.Limit()-1) {
				return false
			}
		}
		return true
	})
	if breaker := s.Provider.Connection().Breaker(); breaker != "closed" {
		s.t.Errorf("the breaker is %s, want closed", breaker)
	}
	s.expectLifetimes()
	return took
}

// goesOn charges each subject once more, and fails unless the answer builds on what the server had charged.
func (s *scene) goesOn(questions ...question) {
	s.t.Helper()
	for _, q := range questions {
		before := s.Charged(q.policy, q.subject)
		s.Expect(q.policy, q.subject, 1, rig.Allowed(rig.Limit-1-before))
	}
}

// keys lists the provider's keys of one kind.
func (s *scene) keys(kind string) []string {
	s.t.Helper()
	var found []string
	for _, name := range s.do("KEYS", s.Config.KeyPrefix+":v1:rate:*:"+kind+":*").([]any) {
		found = append(found, name.(string))
	}
	return found
}

// expectLifetimes fails if a key of the provider's lives for ever.
func (s *scene) expectLifetimes() {
	s.t.Helper()
	for _, kind := range []string{"state", "probe"} {
		for _, name := range s.keys(kind) {
			if s.do("PTTL", name) == int64(-1) {
				s.t.Errorf("key %s has no lifetime", name)
			}
		}
	}
}

// count is how many were told a class.
func (s *scene) count(class string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard[class]
}

// expectHeard fails if anything else than these classes was heard.
func (s *scene) expectHeard(classes ...string) {
	s.t.Helper()
	for heard, n := range s.heard {
		if !slices.Contains(classes, heard) {
			s.t.Errorf("%d heard %s, want %s alone", n, heard, strings.Join(classes, " or "))
		}
	}
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
		Name: name, Calls: calls, Heard: strings.Join(heard, ", "), Charged: s.charged,
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

// says tells whether one of the texts has the part.
func says(texts []string, part string) bool { return strings.Contains(strings.Join(texts, "\n"), part) }

// admit has a new subject of each policy admitted at a cost, before the fault and so beside the account.
func (s *scene) admit(cost int64) []question {
	s.t.Helper()
	var admitted []question
	for _, p := range s.Config.Policies {
		q := question{p.ID(), rig.Subject(), cost}
		s.Expect(q.policy, q.subject, cost, rig.Allowed(p.Limit()-cost))
		admitted = append(admitted, q)
	}
	return admitted
}

// expectChargedSince is expectCharged for a subject that had been charged before the fault.
func (s *scene) expectChargedSince(q question, before, want int64) {
	s.t.Helper()
	got := s.Charged(q.policy, q.subject) - before
	s.charged += got
	if got != want {
		s.t.Errorf("%s: the server charged %d, want %d", q.policy, got, want)
	}
}
