package redislimit_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// rights are all that a user needs.
var rights = []string{"+evalsha", "+eval", "+time", "+type", "+hgetall", "+hset", "+pexpire", "~edgelimit:*"}

func (r *rig) firstAttempt() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return r.provider.Connection().AwaitFirstAttempt(ctx)
}

func asUser(c *redislimit.Config) { c.Redis.Username, c.Redis.Password = "app", "secret" }

func TestRights_allOfThemServe(t *testing.T) {
	server := redistest.Start(t)
	server.Do(t, append([]string{"ACL", "SETUSER", "app", "on", ">secret"}, rights...)...)
	r := newRig(t, server, asUser)
	if err := r.firstAttempt(); err != nil {
		t.Error(err)
	}
	for _, p := range r.config.Policies {
		r.expect(p.ID(), subject(), 1, allowed(policyLimit-1))
	}
	if !contains(r.health().Warnings, "eviction policy cannot be read") {
		t.Errorf("warnings %q do not say that INFO is refused", r.health().Warnings)
	}
	server.Do(t, "ACL", "SETUSER", "app", "+info")
	r.link.Cut()
	r.eventually("see the eviction policy", func() bool { return r.health().Ready && len(r.health().Warnings) == 0 })
}

func TestRights_eachThatIsMissingIsNamedAndNothingIsSent(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for i, missing := range rights {
		t.Run(missing, func(t *testing.T) {
			server.Do(t, "FLUSHALL")
			server.Do(t, "SCRIPT", "FLUSH")
			server.Do(t, "ACL", "DELUSER", "app")
			server.Do(t, append([]string{"ACL", "SETUSER", "app", "on", ">secret"}, slices.Delete(slices.Clone(rights), i, i+1)...)...)
			r := newUnreadyRig(t, server, asUser)
			word := strings.ToUpper(strings.TrimPrefix(missing, "+"))
			if strings.HasPrefix(missing, "~") {
				word = missing[1:]
			}
			err := r.firstAttempt()
			if err == nil || !strings.Contains(err.Error(), " "+word) {
				t.Errorf("the first attempt says %v, want an error that names %s", err, word)
			}
			health := r.health()
			if health.Ready || !health.Refused || !contains(health.Problems, " "+word) {
				t.Errorf("health %+v, want a refusal that names %s", health, word)
			}
			for range 10 {
				for _, p := range r.config.Policies {
					r.expect(p.ID(), subject(), 1, "unavailable CREDENTIALS")
				}
			}
			if found := r.keys("state"); len(found) != 0 {
				t.Errorf("evaluations were sent: %v", found)
			}
			r.demandLifetimes()
			// Granted, the client serves by itself.
			server.Do(t, "ACL", "SETUSER", "app", missing)
			r.awaitReady()
			r.expect("token-bucket", subject(), 1, allowed(policyLimit-1))
		})
	}
}

func TestRights_aWrongPasswordIsNamedAndNothingIsSent(t *testing.T) {
	acl, plain := redistest.Start(t), redistest.Start(t, "--requirepass", "secret")
	acl.Do(t, append([]string{"ACL", "SETUSER", "app", "on", ">secret"}, rights...)...)
	for _, row := range []struct {
		sentence, username, password string
		server                       *redistest.Server
		word                         string
	}{
		{"the user's password is another", "app", "wrong", acl, "WRONGPASS"},
		{"there is no such user", "nobody", "secret", acl, "WRONGPASS"},
		{"the server's password is another", "", "wrong", plain, "WRONGPASS"},
		{"no password is given", "", "", plain, "NOAUTH"},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			r := newUnreadyRig(t, row.server, func(c *redislimit.Config) {
				c.Redis.Username, c.Redis.Password = row.username, row.password
			})
			if err := r.firstAttempt(); err == nil || !strings.Contains(err.Error(), row.word) {
				t.Errorf("the first attempt says %v, want %s", err, row.word)
			}
			if err := r.firstAttempt(); err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the password shows in %v", err)
			}
			if health := r.health(); health.Ready || !health.Refused {
				t.Errorf("health %+v, want a refusal", health)
			}
			for range 10 {
				r.expect("token-bucket", subject(), 1, "unavailable CREDENTIALS")
			}
			if got := r.link.Forwarded("EVALSHA") + r.link.Forwarded("EVAL"); got != 0 {
				t.Errorf("%d programs were sent, want 0", got)
			}
		})
	}
}

func TestRights_aServerPasswordServes(t *testing.T) {
	r := newRig(t, redistest.Start(t, "--requirepass", "secret"), func(c *redislimit.Config) { c.Redis.Password = "secret" })
	r.expect("token-bucket", subject(), 1, allowed(policyLimit-1))
}

// A refusal that only an operator can lift is not asked for again by every
// caller.
func TestRights_aStandingRefusalCostsNoDial(t *testing.T) {
	server := redistest.Start(t)
	r := newUnreadyRig(t, server, func(c *redislimit.Config) { c.Redis.Username, c.Redis.Password = "nobody", "x" })
	if err := r.firstAttempt(); err == nil {
		t.Fatal("a user that does not exist is accepted")
	}
	began, before := time.Now(), r.link.Dials()
	for range 1000 {
		r.expect("token-bucket", subject(), 1, "unavailable CREDENTIALS")
	}
	// The watch over health goes on, at most eight times a second.
	if got, most := r.link.Dials()-before, 2+8*int64(time.Since(began)/time.Second+1); got > most {
		t.Errorf("1000 refused calls dialled %d times, want at most %d", got, most)
	}
}

// Callers who come before the first check is done are not let through: without
// PEXPIRE their first write would live for ever.
func TestRights_callersBeforeTheFirstCheckAreHeldBack(t *testing.T) {
	server := redistest.Start(t)
	server.Do(t, append([]string{"ACL", "SETUSER", "app", "on", ">secret", "-pexpire"}, slices.DeleteFunc(slices.Clone(rights),
		func(right string) bool { return right == "+pexpire" })...)...)
	for range 5 {
		r := newUnreadyRig(t, server, asUser)
		var callers sync.WaitGroup
		for range 20 {
			callers.Go(func() { r.expect("fixed-window", subject(), 1, "unavailable CREDENTIALS") })
		}
		callers.Wait()
		if found := r.keys("state"); len(found) != 0 {
			t.Fatalf("evaluations were sent: %v", found)
		}
		r.demandLifetimes()
	}
}
