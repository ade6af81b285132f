package redislimit_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// TestDoubt_aRightTakenAwayIsNoticedAndBarsCalls takes each right while the client
// serves: health names it, calls go out no more, and given back it serves again.
func TestDoubt_aRightTakenAwayIsNoticedAndBarsCalls(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, right := range []string{"evalsha", "time", "type", "hgetall", "hset", "pexpire"} {
		t.Run(right, func(t *testing.T) {
			server.Do(t, append([]string{"ACL", "SETUSER", "app", "reset", "on", ">secret"}, rights...)...)
			r := newRig(t, server, asUser)
			who := subject()
			r.expect("token-bucket", who, 1, allowed(policyLimit-1))
			server.Do(t, "ACL", "SETUSER", "app", "-"+right)
			if got := say(r.evaluate("token-bucket", who, 1)); strings.HasPrefix(got, "allowed") {
				t.Errorf("got %s without %s", got, right)
			}
			named := func() bool {
				health := r.health()
				return !health.Ready && health.Refused && contains(health.Problems, strings.ToUpper(right))
			}
			r.eventually("be not ready, and say which right is missing", named)
			before := r.link.Forwarded("EVALSHA")
			for range 50 {
				r.expect("token-bucket", subject(), 1, "unavailable CREDENTIALS")
			}
			// The looks at the server go on: each sends at most one EVALSHA a program.
			if sent := r.link.Forwarded("EVALSHA") - before; sent > 20 {
				t.Errorf("%d programs were sent while calls are barred", sent)
			}
			server.Do(t, "ACL", "SETUSER", "app", "+"+right)
			r.awaitReady()
			r.expect("token-bucket", subject(), 1, allowed(policyLimit-1))
		})
	}
}

// TestDoubt_aRotatedPasswordLeavesOpenConnectionsServing changes the password under
// a client that needs more connections than it has.
func TestDoubt_aRotatedPasswordLeavesOpenConnectionsServing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Do(t, append([]string{"ACL", "SETUSER", "app", "on", ">secret"}, rights...)...)
	r := newRig(t, server, asUser, func(c *redislimit.Config) {
		c.Redis.CommandTimeout, c.Redis.AdmissionWait = 5*time.Second, 2*time.Second
	})
	server.Do(t, "ACL", "SETUSER", "app", "resetpass", ">other")
	open := r.provider.Connection().Stats().Open
	began, dials := time.Now(), r.link.Dials()
	const rounds = 4
	for range rounds {
		r.link.Fault("EVALSHA", open, redistest.Delay(time.Second))
		wait := r.occupy(open, func() { r.expect("token-bucket", subject(), 1, allowed(policyLimit-1)) })
		if outcomes := r.together(open, "token-bucket"); outcomes[allowed(policyLimit-1)] != open {
			t.Errorf("outcomes %v, want all %d allowed by the connections that are open", outcomes, open)
		}
		wait()
	}
	// The first round finds out, for all places that are free at once.
	if got, most := r.link.Dials()-dials, int64(open)+8*int64(time.Since(began)/time.Second+1); got > most {
		t.Errorf("%d dials with a wrong password in %d rounds, want at most %d", got, rounds, most)
	}
	r.eventually("say that the password is refused", func() bool {
		return !r.health().Ready && contains(r.health().Problems, "WRONGPASS")
	})
	server.Do(t, "ACL", "SETUSER", "app", ">secret")
	r.awaitReady()
}

// TestDoubt_aFullServerLeavesCallersInLineForWhatIsOpen lets a server take no more
// connections while callers wait.
func TestDoubt_aFullServerLeavesCallersInLineForWhatIsOpen(t *testing.T) {
	r := newRig(t, redistest.Start(t))
	open := r.provider.Connection().Stats().Open
	r.do("CONFIG", "SET", "maxclients", fmt.Sprint(open+1)) // the watch over health has one
	r.link.Fault("EVALSHA", open, redistest.Delay(60*time.Millisecond))
	if outcomes := r.together(open+6, "token-bucket"); outcomes[allowed(policyLimit-1)] != open+6 {
		t.Errorf("outcomes %v, want all %d allowed", outcomes, open+6)
	}
}

// together asks for n subjects at once and counts what came of it.
func (r *rig) together(n int, policy string) map[string]int {
	r.t.Helper()
	var callers sync.WaitGroup
	var mu sync.Mutex
	outcomes := map[string]int{}
	for range n {
		callers.Go(func() {
			got := say(r.evaluate(policy, subject(), 1))
			mu.Lock()
			defer mu.Unlock()
			outcomes[got]++
		})
	}
	callers.Wait()
	return outcomes
}

// TestDoubt_aDemotedMasterIsLeft turns the server into a replica: the client asks
// for the address again and finds the new master.
func TestDoubt_aDemotedMasterIsLeft(t *testing.T) {
	first, second := redistest.Start(t), redistest.Start(t)
	var promoted atomic.Bool
	r := newRig(t, first, func(c *redislimit.Config) { resolveTo(c, &promoted, first.Addr(), second.Addr()) })
	host, port, _ := strings.Cut(second.Addr(), ":")
	promoted.Store(true)
	first.Do(t, "REPLICAOF", host, port)
	r.eventually("serve from the new master", func() bool {
		return strings.HasPrefix(say(r.evaluate("token-bucket", subject(), 1)), "allowed")
	})
	r.eventually("be ready", func() bool { return r.health().Ready })
	for range 50 {
		r.expect("token-bucket", subject(), 1, allowed(policyLimit-1))
	}
}
