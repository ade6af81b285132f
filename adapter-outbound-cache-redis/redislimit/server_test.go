package redislimit_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// block runs a command that does not return for a while, and returns once it
// has ended.
func block(t *testing.T, server *redistest.Server, args ...any) (ended <-chan struct{}) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, ReadTimeout: time.Minute, DisableIdentity: true})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = client.Do(context.Background(), args...).Err()
		_ = client.Close()
	}()
	t.Cleanup(func() { <-done })
	return done
}

// predicaments are what a real server can be in, in which it proves by an error
// reply that nothing ran.
var predicaments = []struct {
	sentence string
	enter    func(r *rig)
	leave    func(r *rig)
	want     string
}{
	{
		sentence: "LOADING: it reads its data set",
		enter: func(r *rig) {
			r.do("DEBUG", "POPULATE", "30000", "load", "100")
			r.do("CONFIG", "SET", "key-load-delay", "100", "loading-process-events-interval-bytes", "1024")
			block(r.t, r.server, "DEBUG", "RELOAD")
		},
		leave: func(r *rig) { r.do("CONFIG", "SET", "key-load-delay", "0") },
		want:  "unavailable SERVER",
	},
	{
		sentence: "READONLY: it is a replica",
		enter:    func(r *rig) { r.do("REPLICAOF", "127.0.0.1", "1") },
		leave:    func(r *rig) { r.do("REPLICAOF", "NO", "ONE") },
		want:     "unavailable SERVER",
	},
	{
		sentence: "MASTERDOWN: it is a replica that does not serve what is stale",
		enter: func(r *rig) {
			r.do("CONFIG", "SET", "replica-serve-stale-data", "no")
			r.do("REPLICAOF", "127.0.0.1", "1")
		},
		leave: func(r *rig) { r.do("REPLICAOF", "NO", "ONE") },
		want:  "unavailable SERVER",
	},
	{
		sentence: "BUSY: a script of somebody else does not end",
		enter: func(r *rig) {
			r.do("CONFIG", "SET", "busy-reply-threshold", "1")
			block(r.t, r.server, "EVAL", "while true do end", 0)
		},
		leave: func(r *rig) { r.do("SCRIPT", "KILL") },
		want:  "unavailable SERVER",
	},
	{
		sentence: "OOM: its memory is full",
		enter:    func(r *rig) { r.do("CONFIG", "SET", "maxmemory", "1") },
		leave:    func(r *rig) { r.do("CONFIG", "SET", "maxmemory", "0") },
		want:     "unavailable SERVER",
	},
	{
		sentence: "MISCONF: it cannot save",
		enter: func(r *rig) {
			dir := r.do("CONFIG", "GET", "dir").([]any)[1].(string)
			if err := os.Mkdir(filepath.Join(dir, "taken.rdb"), 0o700); err != nil {
				r.t.Fatal(err)
			}
			r.do("CONFIG", "SET", "save", "3600 1000000", "dbfilename", "taken.rdb")
			r.do("BGSAVE")
		},
		leave: func(r *rig) { r.do("CONFIG", "SET", "stop-writes-on-bgsave-error", "no") },
		want:  "unavailable SERVER",
	},
	{
		sentence: "NOREPLICAS: too few replicas follow it",
		enter:    func(r *rig) { r.do("CONFIG", "SET", "min-replicas-to-write", "1") },
		leave:    func(r *rig) { r.do("CONFIG", "SET", "min-replicas-to-write", "0") },
		want:     "unavailable SERVER",
	},
	{
		sentence: "NOPERM: the right to EVALSHA was taken away",
		enter:    func(r *rig) { r.do("ACL", "SETUSER", "default", "-evalsha") },
		leave:    func(r *rig) { r.do("ACL", "SETUSER", "default", "+evalsha") },
		want:     "unavailable CREDENTIALS",
	},
	{
		sentence: "a script error: the right to HSET was taken away",
		enter:    func(r *rig) { r.do("ACL", "SETUSER", "default", "-hset") },
		leave:    func(r *rig) { r.do("ACL", "SETUSER", "default", "+hset") },
		want:     "incompatible PROGRAM",
	},
}

func TestServer_whatProvesThatNothingRanChargesNothing(t *testing.T) {
	for _, row := range predicaments {
		t.Run(row.sentence, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, redistest.Start(t, "--enable-protected-configs", "yes"))
			who := subject()
			for _, p := range r.config.Policies {
				r.expect(p.ID(), who, 1, allowed(policyLimit-1))
			}
			row.enter(r)
			for _, p := range r.config.Policies {
				var got string
				r.eventually("answer "+row.want, func() bool {
					// Until the predicament shows, the calls are of somebody else.
					got = say(r.evaluate(p.ID(), subject(), 1))
					return got == row.want
				})
				r.expect(p.ID(), who, 1, row.want)
				r.expect(p.ID(), subject(), 1, row.want)
			}
			if breaker := r.provider.Connection().Breaker(); breaker != "closed" {
				t.Errorf("the breaker is %s after answers, want closed", breaker)
			}
			row.leave(r)
			r.eventually("recover", func() bool { return strings.HasPrefix(say(r.evaluate("token-bucket", subject(), 1)), "allowed") })
			for _, p := range r.config.Policies {
				r.expectCharged(p.ID(), who, 1)
				r.expect(p.ID(), who, 1, allowed(policyLimit-2))
			}
			r.demandLifetimes()
		})
	}
}

// A denial is read-only, so a server that refuses writes still denies.
func TestServer_aFullServerStillDenies(t *testing.T) {
	r := newRig(t, redistest.Start(t))
	who := subject()
	for _, p := range r.config.Policies {
		r.expect(p.ID(), who, policyLimit, allowed(0))
	}
	r.server.Do(t, "CONFIG", "SET", "maxmemory", "1")
	for _, p := range r.config.Policies {
		r.expect(p.ID(), who, 1, "denied 0")
	}
}

func TestServer_fullOfClientsIsUnavailableServer(t *testing.T) {
	server := redistest.Start(t, "--maxclients", "5")
	var others []net.Conn
	for range 5 {
		other, err := net.Dial("tcp", server.Addr())
		if err != nil {
			t.Fatal(err)
		}
		others = append(others, other)
		t.Cleanup(func() { _ = other.Close() })
		if _, err := other.Write([]byte("*1\r\n$4\r\nPING\r\n")); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Read(make([]byte, 7)); err != nil {
			t.Fatal(err)
		}
	}
	r := newUnreadyRig(t, server, func(c *redislimit.Config) { c.Redis.Addr, c.Redis.MaxInFlight = server.Addr(), 2 })
	for range 20 {
		r.expect("token-bucket", subject(), 1, "unavailable SERVER")
	}
	r.eventually("say why", func() bool { return contains(r.health().Problems, "max number of clients") })
	if r.health().Refused {
		t.Error("a server that is full for now counts as one that refuses")
	}
	for _, other := range others {
		_ = other.Close()
	}
	r.awaitReady()
	r.expect("token-bucket", subject(), 1, allowed(policyLimit-1))
}

// A script cache that is lost all the time costs round trips and nothing else.
func TestServer_losesItsScriptsUnderLoad(t *testing.T) {
	r := newRig(t, redistest.Start(t), func(c *redislimit.Config) {
		c.Redis.MaxInFlight, c.Redis.AdmissionWait, c.Redis.CommandTimeout = 32, 2*time.Second, 2*time.Second
		c.Policies = largePolicies(t)
	})
	const callers, each = 32, 60
	who := subject()
	var done atomic.Bool
	var load sync.WaitGroup
	for caller := range callers {
		load.Go(func() {
			for n := range each {
				p := r.config.Policies[(caller+n)%3]
				if o := r.evaluate(p.ID(), who, 1); !o.Allows() {
					t.Errorf("%s: got %s", p.ID(), say(o))
				}
			}
		})
	}
	go func() {
		load.Wait()
		done.Store(true)
	}()
	flushes := 0
	for !done.Load() {
		r.server.Do(t, "SCRIPT", "FLUSH")
		flushes++
	}
	for _, p := range r.config.Policies {
		o := r.evaluate(p.ID(), who, 1)
		if want := allowed(largeLimit - callers*each/3 - 1); say(o) != want {
			t.Errorf("%s: got %s, want %s", p.ID(), say(o), want)
		}
	}
	if sources := r.server.Calls(t, "eval"); sources < 10 || flushes < 10 {
		t.Errorf("%d flushes made %d sources be sent: too few to show anything", flushes, sources)
	}
}
