package faults_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
)

const (
	password  = "the right one"
	keysAlone = "keys" // the right to the rig's keys
)

// rights are the commands that a user needs.
var rights = []string{"evalsha", "eval", "time", "type", "hgetall", "hset", "pexpire"}

// as has the provider come as an ACL user, with keys under a prefix of that name.
func as(user string) func(*redislimit.Config) {
	return func(c *redislimit.Config) {
		c.Redis.Username, c.Redis.Password, c.KeyPrefix = user, password, "lane."+user
	}
}

// grant makes a user anew who may do all that a provider needs but for one right; "" is none.
func grant(t *testing.T, own server.Server, user, missing string) {
	t.Helper()
	words := []string{"ACL", "SETUSER", user, "reset", "on", ">" + password}
	if missing != keysAlone {
		words = append(words, "~lane."+user+":*")
	}
	for _, right := range rights {
		if right != missing {
			words = append(words, "+"+right)
		}
	}
	own.Do(t, words...)
}

// named is how a problem names a right that a user of that name lacks.
func named(right string) string {
	if right == keysAlone {
		return "on keys lane." + right + ":*"
	}
	return "may not run " + strings.ToUpper(right) + " on keys"
}

// titled is a right as the page shows it.
func titled(right string) string {
	if right == keysAlone {
		return "the keys"
	}
	return strings.ToUpper(right)
}

// A right that is missing at the start is named, and nothing is sent before it is granted.
func TestRights_eachThatIsMissingAtTheStartIsNamed(t *testing.T) {
	t.Parallel()
	own := server.Start(t) // each row has a user of its own
	for _, missing := range append(slices.Clone(rights), keysAlone) {
		t.Run(missing, func(t *testing.T) {
			t.Parallel()
			grant(t, own, missing, missing)
			s := sceneOf(t, own, rig.NewUnready(t, own.Addr(), own, as(missing)))
			word := named(missing)
			if err := s.firstAttempt(); err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("the first attempt says %v, want an error that names %s", err, word)
			}
			if health := s.Provider.Connection().Health(); health.Ready || !health.Refused || !says(health.Problems, word) {
				t.Errorf("health %+v, want a refusal that names %s", health, word)
			}
			for _, q := range s.alone("unavailable CREDENTIALS") {
				s.expectCharged(q, 0)
			}
			questions, answers := s.crowd(lanesCallers)
			for i, q := range questions {
				if answers[i] != "unavailable CREDENTIALS" {
					t.Errorf("%s: got %s without %s", q.policy, answers[i], missing)
				}
			}
			if found := s.keys("state"); len(found) != 0 {
				t.Errorf("evaluations were sent: %v", found)
			}
			grant(t, own, missing, "")
			s.record("the right to "+titled(missing)+" is missing at the start", "named; served within %v of the grant", round(s.recovers()))
		})
	}
}

// A right that is taken away while the provider serves is noticed by the next call that needs it: no call is allowed
// without it, calls stop, and given back the provider serves.
func TestRights_eachThatIsTakenAwayStopsCalls(t *testing.T) {
	t.Parallel()
	own := server.Start(t) // each row has a user of its own
	for _, taken := range append(slices.Clone(rights), keysAlone) {
		t.Run(taken, func(t *testing.T) {
			t.Parallel()
			own := own
			if taken == "eval" { // what it needs is lost to the whole server
				own = server.Start(t)
			}
			grant(t, own, taken, "")
			s := sceneOf(t, own, rig.New(t, own.Addr(), own, as(taken)))
			before := s.admit(1) // their states have a lifetime already
			grant(t, own, taken, taken)
			if taken == "eval" { // it is not needed before the server has lost the programs
				s.do("SCRIPT", "FLUSH")
			}
			for _, q := range before {
				if got := s.ask(q); got == rig.Allowed(rig.Limit-2) {
					t.Errorf("%s: got %s without %s", q.policy, got, taken)
				}
			}
			s.Eventually("name it", func() bool {
				health := s.Provider.Connection().Health()
				return !health.Ready && health.Refused && says(health.Problems, named(taken))
			})
			s.alone("unavailable CREDENTIALS")
			questions, answers := s.crowd(lanesCallers)
			for i, q := range questions {
				if answers[i] != "unavailable CREDENTIALS" {
					t.Errorf("%s: got %s while calls are stopped", q.policy, answers[i])
				}
			}
			s.expectHeard("unavailable CREDENTIALS", "incompatible PROGRAM")
			grant(t, own, taken, "")
			took := s.recovers()
			for _, q := range before {
				// Without PEXPIRE a program ends after its HSET, and no outcome claims that it did not.
				most := map[bool]int64{true: 1}[taken == "pexpire"]
				got := s.Charged(q.policy, q.subject) - 1
				s.charged += got
				if got < 0 || got > most {
					t.Errorf("%s: the server charged %d without %s, want %d at most", q.policy, got, taken, most)
				}
			}
			s.record("the right to "+titled(taken)+" is taken away", "named; calls stopped; served within %v of the grant", round(took))
			s.goesOn(before...)
		})
	}
}

func (s *scene) firstAttempt() error {
	ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
	defer cancel()
	return s.Provider.Connection().AwaitFirstAttempt(ctx)
}
