package redislimit_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// Callers at once share few commands, and each gets his own decision.
func TestGroup_ofManyCallersIsFewCommandsAndExact(t *testing.T) {
	const callers, each = 64, 100
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			r := newRig(t, redistest.Start(t), func(c *redislimit.Config) {
				c.Redis.Protocol, c.Redis.MaxInFlight, c.Policies = protocol, callers, largePolicies(t)
				c.Redis.AdmissionWait, c.Redis.CommandTimeout = patience, groupTimeout
			})
			for _, p := range r.config.Policies {
				who, before := subject(), r.server.Calls(t, "evalsha")
				left := make(chan string, callers*each)
				var all sync.WaitGroup
				for range callers {
					all.Go(func() {
						for range each {
							left <- say(r.evaluate(p.ID(), who, 1))
						}
					})
				}
				all.Wait()
				close(left)
				demandEachOnce(t, left, largeLimit, callers*each)
				r.expectCharged(p.ID(), who, callers*each)
				if sent := r.server.Calls(t, "evalsha") - before; sent > callers*each/4 {
					t.Errorf("%s: %d decisions took %d commands, want a quarter at most", p.ID(), callers*each, sent)
				}
			}
		})
	}
}

// demandEachOnce fails unless each of the first decisions under a limit was made once.
func demandEachOnce(t *testing.T, said <-chan string, limit, decisions int64) {
	t.Helper()
	seen := map[string]int{}
	for one := range said {
		seen[one]++
	}
	for n := range decisions {
		if want := allowed(limit - 1 - n); seen[want] != 1 {
			t.Errorf("%q was said %d times, want once", want, seen[want])
			return
		}
	}
	if int64(len(seen)) != decisions {
		t.Errorf("%d different answers to %d calls", len(seen), decisions)
	}
}

// A group takes one command a policy, whatever the order of its callers.
func TestGroup_isOneCommandAPolicy(t *testing.T) {
	r := groupRig(t, redistest.Start(t))
	var questions []question
	for range 5 {
		for _, p := range r.config.Policies {
			questions = append(questions, questionOf(p.ID()))
		}
	}
	g := r.gather(questions...)
	before := r.link.Forwarded("EVALSHA")
	g.send()
	if sent := r.link.Forwarded("EVALSHA") - before; sent != int64(len(r.config.Policies)) {
		t.Errorf("%d commands, want %d", sent, len(r.config.Policies))
	}
	for i, q := range questions {
		if g.answers[i].said != allowed(policyLimit-1) {
			t.Errorf("%s: got %s", q.policy, g.answers[i].said)
		}
		r.expectCharged(q.policy, q.subject, 1)
	}
	r.demandLifetimes()
}

// Each member of a batch is charged his own cost, of his own subject, and those of one
// subject one after the other.
func TestGroup_chargesEachHisOwnCost(t *testing.T) {
	r := groupRig(t, redistest.Start(t))
	for _, p := range []string{"fixed-window-0", "sliding-window-counter-0", "token-bucket-0"} {
		shared := subject()
		var questions []question
		for n := range int64(12) {
			own := questionOf(p)
			own.cost = 1 + n
			questions = append(questions, own, question{policy: p, subject: shared, cost: 1 + n})
		}
		g := r.gather(questions...)
		g.send()
		left := int64(policyLimit)
		for i, q := range questions {
			want := allowed(policyLimit - q.cost)
			if q.subject == shared {
				left -= q.cost
				want = allowed(left)
			}
			if g.answers[i].said != want {
				t.Errorf("%s, cost %d: got %s, want %s", p, q.cost, g.answers[i].said, want)
			}
			if q.subject != shared {
				r.expectCharged(p, q.subject, q.cost)
			}
		}
		r.expectCharged(p, shared, policyLimit-left)
	}
}

// A batch takes a bounded number of decisions; the others of the policy go beside it.
func TestGroup_isBoundedAndSoIsABatch(t *testing.T) {
	r := groupRig(t, redistest.Start(t), func(c *redislimit.Config) { c.Redis.MaxInFlight = 512 })
	questions := make([]question, 200)
	for i := range questions {
		questions[i] = questionOf([]string{"token-bucket-0", "fixed-window-1"}[i/100])
	}
	g := r.gather()
	g.answers = make([]answer, len(questions))
	for i, q := range questions {
		g.callers.Go(func() { g.answers[i] = r.ask(q) })
		// One policy after the other, and quickly: a server that stands still for long is
		// looked at anew, which is a command too.
		if n := i + 1; n%100 == 0 {
			r.eventually("stand in line", func() bool { return r.provider.Connection().Stats().Waiting == n })
		}
	}
	before := r.link.Forwarded("EVALSHA")
	g.send()
	// 64 and 36 of the one and 28 of the other in one group, 64 and 8 in another.
	if sent := r.link.Forwarded("EVALSHA") - before; sent != 5 {
		t.Errorf("%d commands, want 5", sent)
	}
	for i, q := range questions {
		if g.answers[i].said != allowed(policyLimit-1) {
			t.Errorf("caller %d: got %s", i, g.answers[i].said)
		}
		r.expectCharged(q.policy, q.subject, 1)
	}
}

// breaks are what can end a connection in the midst of a group's replies. A reset may
// overtake replies that were on their way.
var breaks = []struct {
	sentence  string
	fault     redistest.Fault
	overtakes bool
}{
	{"the reply is lost", redistest.LoseReply(), false},
	{"half the reply is lost", redistest.HalfReply(), false},
	{"the connection is reset in place of the reply", redistest.ResetAfter(), true},
	{"the connection is reset before the server sees it", redistest.ResetBefore(), true},
	{"the server falls silent", redistest.Silence(), false},
	{"the network swallows the rest", redistest.Swallow(), false},
}

// What was answered before a connection broke is certain, the rest is not, and nothing
// is charged twice: command by command, and member by member where they share one.
func TestGroup_thatBreaksIsCertainUpToThere(t *testing.T) {
	for _, row := range breaks {
		for _, whole := range []int{0, 2, 8} {
			t.Run(fmt.Sprintf("after %d replies %s", whole, row.sentence), func(t *testing.T) {
				t.Parallel()
				r := groupRig(t, redistest.Start(t), func(c *redislimit.Config) { c.Redis.CommandTimeout = groupTimeout / 2 })
				var questions []question
				for _, p := range r.config.Policies {
					questions = append(questions, questionOf(p.ID()), questionOf(p.ID()), questionOf(p.ID()))
				}
				g := r.gather(questions...)
				r.link.Fault("EVALSHA", whole, redistest.Pass())
				r.link.Fault("EVALSHA", 1, row.fault)
				before := r.link.Forwarded("EVALSHA")
				g.send()
				if sent := r.link.Forwarded("EVALSHA") - before; sent > int64(len(r.config.Policies)) {
					t.Errorf("%d commands, want %d at most", sent, len(r.config.Policies))
				}
				answered := g.demandCertainUpTo(questions, len(questions)/len(r.config.Policies))
				if answered > whole || answered < whole && !row.overtakes {
					t.Errorf("%d commands are evaluated, want %d", answered, whole)
				}
				r.link.Heal()
				r.expect("token-bucket-0", subject(), 1, allowed(policyLimit-1))
			})
		}
	}
}

// demandCertainUpTo fails unless the first commands, of so many members each, were
// evaluated and all others are indeterminate; it answers how many were. What was
// evaluated is charged once, what was not at most once.
func (g *group) demandCertainUpTo(questions []question, members int) (answered int) {
	g.rig.t.Helper()
	for i, q := range questions {
		command, got, charged := i/members, g.answers[i].said, g.rig.charged(q.policy, q.subject)
		if i%members == 0 && command == answered && got == allowed(policyLimit-1) {
			answered++
		}
		if command < answered && (got != allowed(policyLimit-1) || charged != 1) ||
			command >= answered && (got != "indeterminate" || charged > 1) {
			g.rig.t.Errorf("command %d, with %d answered: got %s, charged %d", command, answered, got, charged)
		}
	}
	return answered
}

// A reply that is none costs the certainty of its own command and of those after it.
func TestGroup_withGarbageInItsRepliesIsReadUpToThere(t *testing.T) {
	server := redistest.Start(t)
	for sentence, row := range map[string]struct {
		reply []byte
		said  string // by the members of that command
		goes  bool   // the replies after it are read
	}{
		"garbage":                          {[]byte("\x00\xff garbage\r\n"), "incompatible REPLY", false},
		"an error":                         {[]byte("-ERR user_script:1: attempt\r\n"), "incompatible PROGRAM", true},
		"a server that loads":              {[]byte("-LOADING Redis is loading\r\n"), "unavailable SERVER", true},
		"too few decisions":                {slices.Concat([]byte("*2\r\n"), reply("ALLOWED 1000 1000 100 9 0 2000"), []byte(":1\r\n")), "incompatible REPLY", true},
		"one decision in place of many":    {reply("ALLOWED 1000 1000 100 9 0 2000"), "incompatible REPLY", true},
		"errors in place of decisions":     {[]byte("*3\r\n-OOM full\r\n-OOM full\r\n-OOM full\r\n"), "unavailable SERVER", true},
		"integers in place of decisions":   {[]byte("*3\r\n:1\r\n:2\r\n:3\r\n"), "incompatible REPLY", true},
		"a reply too long for any":         {fmt.Appendf(nil, "$8192\r\n%08192d\r\n", 0), "incompatible REPLY", false},
		"a push, and then the decisions":   {append([]byte(">2\r\n+invalidate\r\n_\r\n*3\r\n"), slices.Repeat(reply("ALLOWED 1000 1000 100 99 0 2000"), 3)...), allowed(99), true},
		"decisions by the limit of others": {append([]byte("*3\r\n"), slices.Repeat(reply("ALLOWED 1000 1000 101 99 0 2000"), 3)...), "incompatible REPLY", true},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := groupRig(t, server)
			policies := []string{"token-bucket-0", "token-bucket-1", "fixed-window-1"}
			var questions []question
			for _, p := range policies {
				questions = append(questions, questionOf(p), questionOf(p), questionOf(p))
			}
			g := r.gather(questions...)
			r.link.Fault("EVALSHA", 1, redistest.Pass())
			r.link.Fault("EVALSHA", 1, redistest.Replace(row.reply))
			g.send()
			after := map[bool]string{true: allowed(policyLimit - 1), false: "indeterminate"}[row.goes]
			for i, want := range []string{allowed(policyLimit - 1), row.said, after} {
				for _, a := range g.answers[3*i : 3*i+3] {
					if a.said != want {
						t.Errorf("command %d: got %s, want %s", i, a.said, want)
					}
				}
			}
			for i, q := range questions {
				got := r.charged(q.policy, q.subject)
				// What is not read on may be run after its caller was told, or never.
				notYet := got == 0 && g.answers[i].said == "indeterminate"
				if got != 1 && !notYet {
					t.Errorf("caller %d: charged %d, want 1", i, got)
				}
			}
			r.expect("token-bucket-0", subject(), 1, allowed(policyLimit-1))
		})
	}
}

// NOSCRIPT lets the source of what it refused follow, and of nothing else.
func TestGroup_runsAgainOnlyWhatTheServerDoesNotKnow(t *testing.T) {
	r := groupRig(t, redistest.Start(t))
	r.do("SCRIPT", "FLUSH")
	r.expect("fixed-window-0", subject(), 1, allowed(policyLimit-1)) // brings its program back
	questions := []question{
		questionOf("fixed-window-1"),
		questionOf("token-bucket-0"), questionOf("token-bucket-0"),
		questionOf("fixed-window-2"),
		questionOf("sliding-window-counter-0"),
		questionOf("token-bucket-1"), questionOf("token-bucket-1"), questionOf("token-bucket-1"),
	}
	g := r.gather(questions...)
	bySHA, bySource := r.link.Forwarded("EVALSHA"), r.link.Forwarded("EVAL")
	g.send()
	for i, q := range questions {
		if g.answers[i].said != allowed(policyLimit-1) {
			t.Errorf("%s: got %s", q.policy, g.answers[i].said)
		}
		r.expectCharged(q.policy, q.subject, 1)
	}
	bySHA, bySource = r.link.Forwarded("EVALSHA")-bySHA, r.link.Forwarded("EVAL")-bySource
	if bySHA != 5 || bySource != 3 {
		t.Errorf("%d by SHA and %d by source, want 5 and 3: two batches and one single were not known", bySHA, bySource)
	}
}

// A state that is none is refused to its caller and to nobody beside him.
func TestGroup_aStateThatIsNotOursIsItsCallersAlone(t *testing.T) {
	r := groupRig(t, redistest.Start(t))
	for _, p := range []string{"fixed-window-0", "sliding-window-counter-0", "token-bucket-0"} {
		questions := []question{questionOf(p), questionOf(p), questionOf(p)}
		r.do("SET", r.stateKey(p, questions[1].subject), "1")
		g := r.gather(questions...)
		g.send()
		for i, want := range []string{allowed(policyLimit - 1), "incompatible STATE", allowed(policyLimit - 1)} {
			if g.answers[i].said != want {
				t.Errorf("%s, caller %d: got %s, want %s", p, i, g.answers[i].said, want)
			}
		}
	}
}

// On a full server who is denied hears so, beside those who cannot be charged.
func TestGroup_onAFullServerAnswersEachForHimself(t *testing.T) {
	r := groupRig(t, redistest.Start(t))
	used := subject()
	for n := range int64(policyLimit) {
		r.expect("token-bucket-0", used, 1, allowed(policyLimit-1-n))
	}
	questions := []question{questionOf("token-bucket-0"), {policy: "token-bucket-0", subject: used, cost: 1}, questionOf("token-bucket-0")}
	r.do("CONFIG", "SET", "maxmemory", "1")
	r.server.Pause(t)
	g := &group{rig: r, occupied: r.standStill("unavailable SERVER"), answers: make([]answer, len(questions))}
	for i, q := range questions {
		g.callers.Go(func() { g.answers[i] = r.ask(q) })
		r.eventually("stand in line", func() bool { return r.provider.Connection().Stats().Waiting == i+1 })
	}
	g.send()
	for i, want := range []string{"unavailable SERVER", "denied 0", "unavailable SERVER"} {
		if g.answers[i].said != want {
			t.Errorf("caller %d: got %s, want %s", i, g.answers[i].said, want)
		}
	}
	r.do("CONFIG", "SET", "maxmemory", "0")
	r.expectCharged("token-bucket-0", questions[0].subject, 0)
	r.expectCharged("token-bucket-0", questions[2].subject, 0)
}
