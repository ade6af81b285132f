package faults_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
)

// scene is one fault, a server of its own, and the account of the evaluations that were asked for while it lasted.
type scene struct {
	*rig.Rig
	account
	t      *testing.T
	server server.Server
}

// stage starts a server and opens a provider that is ready.
func stage(t *testing.T, directives []string, changes ...func(*redislimit.Config)) *scene {
	t.Helper()
	own := server.Start(t, directives...)
	return sceneOf(t, own, rig.New(t, own.Addr(), own, changes...))
}

func sceneOf(t *testing.T, own server.Server, r *rig.Rig) *scene {
	return &scene{Rig: r, t: t, server: own, account: account{heard: map[string]int64{}}}
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

// question is one evaluation.
type question struct {
	policy, subject string
	cost            int64
}

func questionOf(policy string) question { return question{policy, rig.Subject(), 1} }

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

// recovers is serves, and demands that no key was left without a lifetime.
func (s *scene) recovers() time.Duration {
	s.t.Helper()
	took := s.serves()
	if forever := s.forever(); len(forever) > 0 {
		s.t.Errorf("keys have no lifetime: %q", forever)
	}
	return took
}

// serves waits until each policy allows a new subject, and demands that the breaker is closed. What it answers is how
// long that took, so it is called at the moment when the fault ends.
func (s *scene) serves() time.Duration {
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

// forever lists the provider's keys that have no lifetime.
func (s *scene) forever() []string {
	s.t.Helper()
	var found []string
	for _, name := range append(s.keys("state"), s.keys("probe")...) {
		if s.do("PTTL", name) == int64(-1) {
			found = append(found, name)
		}
	}
	return found
}

// says tells whether one of the texts has the part.
func says(texts []string, part string) bool { return strings.Contains(strings.Join(texts, "\n"), part) }
