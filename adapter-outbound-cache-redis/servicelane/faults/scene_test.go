package faults_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
)

// scene is one fault, a server of its own, and the account of the evaluations that were asked for while it lasted.
type scene struct {
	*rig.Line
	limiter
	account
	t      *testing.T
	kind   *kind
	server server.Server
	edge   *rig.Rig // the provider, if the limiter is the edge port
}

// stage starts a server and opens a limiter that is ready.
func (k *kind) stage(t *testing.T, directives []string, changes ...func(*options)) *scene {
	t.Helper()
	return k.at(t, server.Start(t, directives...), changes...)
}

// at is stage at a server that runs.
func (k *kind) at(t *testing.T, own server.Server, changes ...func(*options)) *scene {
	t.Helper()
	s := k.unready(t, own, changes...)
	s.AwaitReady()
	return s
}

// unready is at without the wait.
func (k *kind) unready(t *testing.T, own server.Server, changes ...func(*options)) *scene {
	t.Helper()
	line, opened := k.open(t, own, changes)
	s := &scene{Line: line, limiter: opened, t: t, kind: k, server: own, account: account{heard: map[string]int64{}}}
	if p, is := opened.(port); is {
		s.edge = p.Rig
	}
	return s
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

// past asks the server past the link and past its own Do.
func (s *scene) past() redistest.Witness { return redistest.Witness{Addr: s.server.Addr()} }

// block sends a command that does not return for a while.
func (s *scene) block(args ...string) {
	ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
	var done sync.WaitGroup
	done.Go(func() { _, _ = s.past().Ask(ctx, args...) })
	s.t.Cleanup(func() { cancel(); done.Wait() })
}

// admit has a new subject admitted in each way at a cost, before the fault and so beside the account; to the log so many
// times.
func (s *scene) admit(cost int64) []question {
	s.t.Helper()
	var admitted []question
	for _, way := range s.ways() {
		q := question{way, rig.Subject(), cost}
		if s.edge != nil {
			s.expect(q, rig.Allowed(s.limit(way)-cost))
		} else {
			for n := range cost {
				s.expect(q.one(), rig.Allowed(s.limit(way)-1-n))
			}
			q = q.one()
		}
		admitted = append(admitted, q)
	}
	return admitted
}

// say asks with a deadline beyond what any call may take, and answers what was heard.
func (s *scene) say(q question) string {
	ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
	defer cancel()
	return s.evaluate(ctx, q)
}

// expect asks beside the account.
func (s *scene) expect(q question, want string) {
	s.t.Helper()
	if got := s.say(q); got != want {
		s.t.Errorf("%s: got %s, want %s", q.way, got, want)
	}
}

// recovers is serves, and demands that no key was left without a lifetime.
func (s *scene) recovers() time.Duration {
	s.t.Helper()
	took := s.serves()
	if forever := s.forever(); len(forever) > 0 {
		s.t.Errorf("keys have no lifetime: %q", forever)
	}
	return took
}

// serves waits until a new subject is allowed in each way, and demands that the breaker is closed. What it answers is how
// long that took, so it is called at the moment when the fault ends.
func (s *scene) serves() time.Duration {
	s.t.Helper()
	took := s.Eventually("serve again", func() bool {
		for _, way := range s.ways() {
			if s.say(questionOf(way)) != rig.Allowed(s.limit(way)-1) {
				return false
			}
		}
		return true
	})
	if breaker := s.Connection.Breaker(); breaker != "closed" {
		s.t.Errorf("the breaker is %s, want closed", breaker)
	}
	return took
}

// goesOn charges each subject once more, and fails unless the answer builds on what the server had charged.
func (s *scene) goesOn(questions ...question) {
	s.t.Helper()
	for _, q := range questions {
		s.expect(q.one(), rig.Allowed(s.limit(q.way)-1-s.charged(q)))
	}
}

// keysLike lists the keys of a pattern.
func (s *scene) keysLike(pattern string) []string {
	s.t.Helper()
	var found []string
	for _, name := range s.do("KEYS", pattern).([]any) {
		found = append(found, name.(string))
	}
	return found
}

// states lists the keys that hold a subject's state.
func (s *scene) states() []string {
	s.t.Helper()
	states, _ := s.patterns()
	return s.keysLike(states)
}

// forever lists the keys of this limiter, and of probes, that have no lifetime. Probes of all logs are named alike.
func (s *scene) forever() []string {
	s.t.Helper()
	_, probes := s.patterns()
	return slices.DeleteFunc(append(s.states(), s.keysLike(probes)...), func(name string) bool {
		return s.do("PTTL", name) != int64(-1)
	})
}

// says tells whether one of the texts has the part.
func says(texts []string, part string) bool { return strings.Contains(strings.Join(texts, "\n"), part) }
