package duallog_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/duallog"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// user is the one that a limiter needs, and rights are all that it has.
const user = "edgelimit-inbound-web"

var rights = []string{
	"~rl:*", "+evalsha", "+eval", "+time", "+type", "+zrange", "+zcount", "+zadd", "+zremrangebyscore", "+pexpire",
}

const docs = "../../docs/redis-protocol.md"

// TestDocs_giveTheRightsThatAreNeeded makes the user by the line that the docs give.
func TestDocs_giveTheRightsThatAreNeeded(t *testing.T) {
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "\n    ACL SETUSER "+user+" ")
	line, _, ended := strings.Cut(after, "\n")
	if !ended {
		t.Fatalf("%s has no user %s", docs, user)
	}
	words := strings.Fields(line)
	for _, word := range words {
		if strings.ContainsAny(word[:1], "+~") && !slices.Contains(rights, word) {
			t.Errorf("%s gives the right %s, which nobody needs", docs, word)
		}
	}
	server := redistest.Start(t)
	if got := server.Do(t, append([]string{"ACL", "SETUSER", user}, words...)...); got != "OK" {
		t.Fatalf("%q: %v", line, got)
	}
	newRig(t, server, asUser).expect(dual, newSubject(), allowed(dual, 1, 1))
}

func asUser(c *duallog.Config) {
	c.Redis.Username, c.Redis.Password = user, "password"
}

// grant makes the user anew, with all rights but the ones without.
func grant(t *testing.T, server *redistest.Server, without ...string) {
	t.Helper()
	granted := slices.DeleteFunc(slices.Clone(rights), func(right string) bool { return slices.Contains(without, right) })
	if got := server.Do(t, append([]string{"ACL", "SETUSER", user, "reset", "on", ">password"}, granted...)...); got != "OK" {
		t.Fatalf("grant %q: %v", granted, got)
	}
}

func (r *rig) firstAttempt() error {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	return r.limiter.Connection().AwaitFirstAttempt(ctx)
}

// name is the word by which a message names a right.
func name(right string) string {
	if pattern, ok := strings.CutPrefix(right, "~"); ok {
		return pattern
	}
	return strings.ToUpper(strings.TrimPrefix(right, "+"))
}

func contains(texts []string, part string) bool {
	return strings.Contains(strings.Join(texts, "\n"), part)
}

func TestRights_allOfThemServe(t *testing.T) {
	server := redistest.Start(t)
	grant(t, server)
	r := newRig(t, server, asUser)
	if err := r.firstAttempt(); err != nil {
		t.Error(err)
	}
	who := newSubject()
	r.expect(dual, who, allowed(dual, 1, 1))
	r.expect(single, who, allowed(single, 2, 1))
	server.Do(t, "SCRIPT", "FLUSH")
	r.expect(dual, who, allowed(dual, 3, 2))
	r.demandLifetimes()
}

func TestRights_eachThatIsMissingIsNamedAndNothingIsSent(t *testing.T) {
	for _, missing := range rights {
		t.Run(missing, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			grant(t, server, missing)
			r := newUnreadyRig(t, server, asUser)
			err := r.firstAttempt()
			if err == nil || !strings.Contains(err.Error(), " "+name(missing)) {
				t.Errorf("the first attempt says %v, want an error that names %s", err, name(missing))
			}
			for _, other := range rights {
				if err != nil && other != missing && missing[0] == '+' && strings.Contains(err.Error(), " "+name(other)+" ") {
					t.Errorf("the first attempt says %v, and %s is granted", err, name(other))
				}
			}
			health := r.health()
			if health.Ready || !health.Refused || !contains(health.Problems, " "+name(missing)) {
				t.Errorf("health %+v, want a refusal that names %s", health, name(missing))
			}
			for range 20 {
				for _, f := range forms {
					r.expect(f, newSubject(), "unavailable")
				}
			}
			for _, key := range r.do("KEYS", "rl:*").([]any) {
				if !strings.HasPrefix(key.(string), "rl:{probe:") {
					t.Errorf("a call was sent: %v", key)
				}
			}
			r.demandLifetimes()
			// Granted, the limiter serves by itself.
			server.Do(t, "ACL", "SETUSER", user, missing)
			r.awaitReady()
			r.eventually("serve", func() bool { return strings.HasPrefix(r.ask(dual, newSubject()), "allowed") })
		})
	}
}

func TestRights_aWrongPasswordIsNamedAndNothingIsSent(t *testing.T) {
	acl, plain := redistest.Start(t), redistest.Start(t, "--requirepass", "password")
	grant(t, acl)
	for _, row := range []struct {
		sentence, username, password string
		server                       *redistest.Server
		word                         string
	}{
		{"the user's password is another", user, "wrong", acl, "WRONGPASS"},
		{"there is no such user", "nobody", "password", acl, "WRONGPASS"},
		{"the server's password is another", "", "wrong", plain, "WRONGPASS"},
		{"no password is given", "", "", plain, "NOAUTH"},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			r := newUnreadyRig(t, row.server, func(c *duallog.Config) { c.Redis.Username, c.Redis.Password = row.username, row.password })
			if err := r.firstAttempt(); err == nil || !strings.Contains(err.Error(), row.word) {
				t.Errorf("the first attempt says %v, want %s", err, row.word)
			}
			if health := r.health(); health.Ready || !health.Refused {
				t.Errorf("health %+v, want a refusal", health)
			}
			for range 10 {
				for _, f := range forms {
					r.expect(f, newSubject(), "unavailable")
				}
			}
			if got := r.link.Forwarded("EVALSHA") + r.link.Forwarded("EVAL"); got != 0 {
				t.Errorf("%d programs were sent, want 0", got)
			}
		})
	}
}

// Callers who come before the first check is done are not let through: without
// PEXPIRE their first write would live for ever.
func TestRights_callersBeforeTheFirstCheckAreHeldBack(t *testing.T) {
	server := redistest.Start(t)
	grant(t, server, "+pexpire")
	for range 3 {
		r := newUnreadyRig(t, server, asUser)
		var callers sync.WaitGroup
		for n := range 20 {
			callers.Go(func() { r.expect(forms[n%2], newSubject(), "unavailable") })
		}
		callers.Wait()
		r.demandLifetimes()
		if found := r.do("KEYS", "*").([]any); len(found) != 0 {
			t.Fatalf("calls were sent: %v", found)
		}
	}
}

// A right that is taken away under a limiter that serves is noticed, and no call
// goes out until it is given back.
func TestRights_oneTakenAwayIsNoticedAndBarsCalls(t *testing.T) {
	for _, right := range rights {
		if right == "+eval" || right[0] == '~' { // a server that has the program does not ask for the one; the other has no minus
			continue
		}
		t.Run(right, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			grant(t, server)
			r := newRig(t, server, asUser, failures(never))
			who := newSubject()
			r.expect(dual, who, allowed(dual, 1, 1))
			server.Do(t, "ACL", "SETUSER", user, "-"+right[1:])
			if got := r.ask(dual, who); got != "unavailable" && got != "incompatible" {
				t.Errorf("got %s without %s", got, right)
			}
			r.eventually("say which right is missing", func() bool {
				health := r.health()
				return !health.Ready && health.Refused && contains(health.Problems, name(right))
			})
			sent := r.link.Forwarded("EVALSHA")
			for range 50 {
				r.expect(dual, newSubject(), "unavailable")
			}
			// The looks at the server go on: each sends at most one.
			if got := r.link.Forwarded("EVALSHA") - sent; got > 20 {
				t.Errorf("%d programs were sent while calls are barred", got)
			}
			server.Do(t, "ACL", "SETUSER", user, right)
			r.awaitReady()
			r.expect(dual, newSubject(), allowed(dual, 1, 1))
		})
	}
}
