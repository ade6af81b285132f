package faults_test

import (
	"context"
	"fmt"
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

	stopped = "unavailable CREDENTIALS" // by the server, or before anything is sent
	broken  = "incompatible PROGRAM"
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
			for _, q := range s.alone(stopped) {
				s.expectCharged(q, 0)
			}
			questions, answers := s.crowd(lanesCallers)
			for i, q := range questions {
				if answers[i] != stopped {
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

// A right that is taken away while the provider serves is noticed by the next call that needs it: it says what its own
// refusal proves, calls stop, and given back the provider serves.
func TestRights_eachThatIsTakenAwayStopsCalls(t *testing.T) {
	t.Parallel()
	own := server.Start(t) // each row has a user of its own
	for _, row := range []struct {
		taken, heard string
		fresh        string // heard of a subject without a state
		leaves       int64  // charged by a call that was refused, at most
	}{
		// The server refuses the call itself.
		{"evalsha", stopped, stopped, 0},
		{"eval", stopped, stopped, 0},
		{keysAlone, stopped, stopped, 0},
		// A program fails amid its run.
		{"time", broken, broken, 0},
		{"type", broken, broken, 0},
		{"hgetall", broken, admitted, 0}, // there is nothing to get
		{"hset", broken, broken, 0},
		{"pexpire", broken, broken, 1}, // after its HSET
	} {
		t.Run(row.taken, func(t *testing.T) {
			t.Parallel()
			own := own
			if row.taken == "eval" { // what it needs is lost to the whole server
				own = server.Start(t)
			}
			grant(t, own, row.taken, "")
			s := sceneOf(t, own, rig.New(t, own.Addr(), own, as(row.taken)))
			known := s.admit(1)
			grant(t, own, row.taken, row.taken)
			if row.taken == "eval" { // it is not needed before the server has lost the programs
				s.do("SCRIPT", "FLUSH")
			}
			met := s.meet(known, row.heard, row.fresh)
			s.Eventually("name it", func() bool {
				health := s.Provider.Connection().Health()
				return !health.Ready && health.Refused && says(health.Problems, named(row.taken))
			})
			s.alone(stopped)
			questions, answers := s.crowd(lanesCallers)
			for i, q := range questions {
				if answers[i] != stopped {
					t.Errorf("%s: got %s while calls are stopped", q.policy, answers[i])
				}
			}
			s.expectHeard(stopped, row.heard, class(row.fresh))
			grant(t, own, row.taken, "")
			took := s.serves()
			for _, m := range met {
				switch m.said {
				case admitted:
					s.expectChargedFrom(m.question, m.before, 1, 1)
				case broken:
					s.expectChargedFrom(m.question, m.before, 0, row.leaves)
				default:
					s.expectChargedFrom(m.question, m.before, 0, 0)
				}
			}
			followed := s.lifetimes(met, row.leaves)
			s.record("the right to "+titled(row.taken)+" is taken away", "named; calls stopped; served within %v of the grant%s", round(took), followed)
		})
	}
}

// meeting is a question that was asked when a right had just been taken away.
type meeting struct {
	question
	before int64 // charged
	said   string
}

// meet asks of subjects that are known and of new ones. Whoever is sent hears what the row says; once one was refused,
// the look that stops calls may come before the next, who then is sent nowhere.
func (s *scene) meet(known []question, ofKnown, ofFresh string) []meeting {
	s.t.Helper()
	var met []meeting
	ask := func(q question, before int64, want string) {
		sent := s.Link.Forwarded("EVALSHA")
		m := meeting{q, before, s.ask(q)}
		if nowhere := m.said == stopped && s.Link.Forwarded("EVALSHA") == sent; m.said != want && !nowhere {
			s.t.Errorf("%s, charged %d: got %s, want %s", q.policy, before, m.said, want)
		}
		met = append(met, m)
	}
	for _, q := range known {
		ask(questionOf(q.policy), 0, ofFresh)
		ask(q, q.cost, ofKnown)
	}
	if s.count(ofKnown) == 0 {
		s.t.Errorf("heard %v, and nobody %s", s.heard, ofKnown)
	}
	return met
}

// lifetimes demands that no key is left without a lifetime, unless by programs that have charged and could not give one:
// such keys have one again once their subject is admitted. It charges each subject once more.
func (s *scene) lifetimes(met []meeting, leaves int64) (followed string) {
	s.t.Helper()
	left := len(s.forever())
	for _, m := range met {
		s.goesOn(m.question)
	}
	if still := s.forever(); len(still) > 0 {
		s.t.Errorf("keys have no lifetime although their subjects were admitted: %q", still)
	}
	switch {
	case left == 0:
		return ""
	case leaves == 0:
		s.t.Errorf("%d keys were left without a lifetime, want none", left)
	}
	return fmt.Sprintf("; %d new subjects had no lifetime until they were admitted again", left)
}

func (s *scene) firstAttempt() error {
	ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
	defer cancel()
	return s.Provider.Connection().AwaitFirstAttempt(ctx)
}
