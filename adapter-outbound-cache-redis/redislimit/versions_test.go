package redislimit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// greeting is a reply to HELLO by a server of this version.
func greeting(version string) []byte {
	return fmt.Appendf(nil, "*4\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$%d\r\n%s\r\n", len(version), version)
}

func TestVersion_anOldServerIsRefusedInWordsAndNothingIsSent(t *testing.T) {
	server := redistest.Start(t)
	for _, version := range []string{"6.2.14", "6.99.0", "2.8.0"} {
		link := redistest.NewLink(t, server.Addr())
		link.Fault("HELLO", -1, redistest.Replace(greeting(version)))
		r := newUnreadyRig(t, server, func(c *redislimit.Config) { c.Redis.Addr = link.Addr() })
		err := r.firstAttempt()
		if err == nil || !strings.Contains(err.Error(), "need 7.0 or newer") || !strings.Contains(err.Error(), version[:3]) {
			t.Errorf("version %s: the first attempt says %v", version, err)
		}
		if health := r.health(); health.Ready || !health.Refused || !contains(health.Problems, "7.0") {
			t.Errorf("version %s: health %+v", version, health)
		}
		r.expect("token-bucket", subject(), 1, "incompatible PROGRAM")
		if got := link.Forwarded("EVALSHA") + link.Forwarded("EVAL"); got != 0 {
			t.Errorf("version %s: %d programs were sent, want 0", version, got)
		}
		// A server that is new enough takes its place.
		link.Heal()
		r.awaitReady()
		r.expect("token-bucket", subject(), 1, allowed(policyLimit-1))
	}
}

// A server is replaced by an older one while connections of the first live.
func TestVersion_aDowngradeShowsInHealth(t *testing.T) {
	r := newRig(t, redistest.Start(t))
	r.link.Fault("HELLO", -1, redistest.Replace(greeting("6.2.14")))
	r.eventually("refuse the older server", func() bool { return r.health().Refused && contains(r.health().Problems, "6.2") })
}

func TestVersion_oneThatCannotBeReadIsServedWithAWarning(t *testing.T) {
	for sentence, start := range map[string]func(t *testing.T) *redistest.Server{
		"HELLO is unknown": func(t *testing.T) *redistest.Server { return redistest.Start(t, "--rename-command", "HELLO", "") },
		"HELLO tells no version": func(t *testing.T) *redistest.Server {
			return redistest.Start(t)
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newUnreadyRig(t, start(t), func(c *redislimit.Config) {
				if sentence == "HELLO tells no version" {
					link := redistest.NewLink(t, c.Redis.Addr)
					link.Fault("HELLO", -1, redistest.Replace(greeting("unstable")))
					c.Redis.Addr = link.Addr()
				}
			})
			r.awaitReady()
			r.expect("token-bucket", subject(), 1, allowed(policyLimit-1))
			if health := r.health(); health.Version != "" || !contains(health.Warnings, "version") {
				t.Errorf("health %+v, want a warning about the version", health)
			}
		})
	}
}

// A server with many modules greets at length.
func TestVersion_aLongGreetingIsRead(t *testing.T) {
	modules := strings.Repeat("$100\r\n"+strings.Repeat("m", 100)+"\r\n", 100)
	long := "*106\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n$0\r\n\r\n" + modules
	r := newUnreadyRig(t, redistest.Start(t), func(c *redislimit.Config) {
		link := redistest.NewLink(t, c.Redis.Addr)
		link.Fault("HELLO", -1, redistest.Replace([]byte(long)))
		c.Redis.Addr = link.Addr()
	})
	r.awaitReady()
	if got := r.health().Version; got != "7.0" {
		t.Errorf("version %q, want 7.0", got)
	}
}

func TestHealth_warnsOfEvictionAndRefusesAReplica(t *testing.T) {
	server := redistest.Start(t, "--maxmemory-policy", "allkeys-lru")
	r := newRig(t, server)
	if !contains(r.health().Warnings, "allkeys-lru") {
		t.Errorf("warnings %q do not name the eviction policy", r.health().Warnings)
	}
	server.Do(t, "REPLICAOF", "127.0.0.1", "1")
	r.eventually("see the replica", func() bool { return !r.health().Ready && contains(r.health().Problems, "replica") })
	server.Do(t, "REPLICAOF", "NO", "ONE")
	r.eventually("see the master", func() bool { return r.health().Ready })
}
