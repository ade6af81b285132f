package faults_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
)

const (
	password  = "the right one"
	keysAlone = "keys" // the right to the limiter's keys

	stopped = "unavailable CREDENTIALS" // by the server, or before anything is sent
	broken  = "incompatible PROGRAM"
)

// taking is a right that a user needs, and what follows when it is taken away while the limiter serves.
type taking struct {
	right  string
	heard  string
	fresh  string // heard of a subject without a state
	leaves int64  // charged by a call that was refused, at most
}

var portRights = []taking{
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
}

var logRights = []taking{
	{"evalsha", stopped, stopped, 0},
	{"eval", stopped, stopped, 0},
	{keysAlone, stopped, stopped, 0},
	{"time", broken, broken, 0},
	{"type", broken, broken, 0},
	{"zrange", broken, admitted, 0}, // an empty log has no newest call
	{"zcount", broken, broken, 0},
	{"zadd", broken, broken, 0},
	{"zremrangebyscore", broken, broken, 1}, // after the ZADD of every layer
	{"pexpire", broken, broken, 1},
}

// as has the limiter come as an ACL user.
func (k *kind) as(user string) func(*options) {
	return func(o *options) {
		o.Username, o.Password = user, password
		k.shut(o)
	}
}

// grant makes a user anew who may do all that a limiter needs but for one right; "" is none.
func (k *kind) grant(t *testing.T, own server.Server, user, missing string) {
	t.Helper()
	words := []string{"ACL", "SETUSER", user, "reset", "on", ">" + password}
	for _, needed := range k.rights {
		switch needed.right {
		case missing:
		case keysAlone:
			words = append(words, "~"+k.keys(user))
		default:
			words = append(words, "+"+needed.right)
		}
	}
	own.Do(t, words...)
}

// named is what a problem must say of a right that a user of that name lacks.
func (k *kind) named(right string) string {
	switch right {
	case keysAlone:
		return "permissions to access" // the server's words of keys, and not of commands
	case "zadd": // a program fails for it, and does not say so
		return "for want of ZADD on keys " + k.keys(right)
	default:
		return "may not run " + strings.ToUpper(right) + " on keys " + k.keys(right)
	}
}

// titled is a right as the page shows it.
func titled(right string) string {
	if right == keysAlone {
		return "the keys"
	}
	return strings.ToUpper(right)
}

// A right that is missing at the start is named, and no evaluation runs before it is granted.
func TestRights_eachThatIsMissingAtTheStartIsNamed(t *testing.T) {
	each(t, func(t *testing.T, k *kind) {
		own := server.Start(t) // each row has a user of its own
		for _, needed := range k.rights {
			missing := needed.right
			t.Run(missing, func(t *testing.T) {
				t.Parallel()
				k.grant(t, own, missing, missing)
				s := k.unready(t, own, k.as(missing))
				word := k.named(missing)
				if err := s.firstAttempt(); err == nil || !strings.Contains(err.Error(), word) {
					t.Errorf("the first attempt says %v, want an error that names %s", err, word)
				}
				if health := s.Connection.Health(); health.Ready || !health.Refused || !says(health.Problems, word) {
					t.Errorf("health %+v, want a refusal that names %s", health, word)
				}
				asked := s.alone(stopped)
				questions, answers := s.crowd(lanesCallers)
				s.demandOfAll(questions, answers, stopped)
				for _, q := range append(asked, questions...) {
					s.expectCharged(q, 0)
				}
				if found := s.states(); len(found) != 0 {
					t.Errorf("evaluations were run: %v", found)
				}
				k.grant(t, own, missing, "")
				s.record("the right to "+titled(missing)+" is missing at the start", "named; served within %v of the grant", round(s.recovers()))
			})
		}
	})
}

// A right that is taken away while the limiter serves is noticed by the next call that needs it: it says what its own
// refusal proves, calls stop, and given back the limiter serves.
func TestRights_eachThatIsTakenAwayStopsCalls(t *testing.T) {
	each(t, func(t *testing.T, k *kind) {
		own := server.Start(t) // each row has a user of its own
		for _, row := range k.rights {
			t.Run(row.right, func(t *testing.T) {
				t.Parallel()
				own := own
				if row.right == "eval" || row.leaves > 0 { // the whole server loses what it needs, or keeps what it leaves
					own = server.Start(t)
				}
				k.grant(t, own, row.right, "")
				s := k.at(t, own, k.as(row.right))
				known := s.admit(1)
				k.grant(t, own, row.right, row.right)
				if row.right == "eval" { // it is not needed before the server has lost the programs
					s.do("SCRIPT", "FLUSH")
				}
				met := s.meet(known, row.heard, row.fresh)
				s.Eventually("name it", func() bool {
					health := s.Connection.Health()
					return !health.Ready && health.Refused && says(health.Problems, k.named(row.right))
				})
				s.alone(stopped)
				questions, answers := s.crowd(lanesCallers)
				s.demandOfAll(questions, answers, stopped)
				s.expectHeard(stopped, row.heard, class(row.fresh))
				k.grant(t, own, row.right, "")
				took := s.serves()
				for _, m := range met {
					switch m.said {
					case admitted:
						s.expectChargedFrom(m.question, m.before, 1, 1)
					case s.word(broken):
						s.expectChargedFrom(m.question, m.before, 0, row.leaves)
					default:
						s.expectChargedFrom(m.question, m.before, 0, 0)
					}
				}
				followed := s.lifetimes(met, row.leaves)
				s.record("the right to "+titled(row.right)+" is taken away", "named; calls stopped; served within %v of the grant%s", round(took), followed)
			})
		}
	})
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
		if nowhere := m.said == s.word(stopped) && s.Link.Forwarded("EVALSHA") == sent; m.said != s.word(want) && !nowhere {
			s.t.Errorf("%s, charged %d: got %s, want %s", q.way, before, m.said, s.word(want))
		}
		met = append(met, m)
	}
	for _, q := range known {
		ask(questionOf(q.way), 0, ofFresh)
		ask(q, 1, ofKnown)
	}
	if s.count(ofKnown) == 0 {
		s.t.Errorf("heard %v, and nobody %s", s.heard, s.word(ofKnown))
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
	return fmt.Sprintf("; %d keys of new subjects had no lifetime until these were admitted again", left)
}

func (s *scene) firstAttempt() error {
	ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
	defer cancel()
	return s.Connection.AwaitFirstAttempt(ctx)
}
