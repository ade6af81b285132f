package duallog_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/duallog"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// block runs a command that does not return for a while.
func (r *rig) block(args ...any) {
	r.t.Helper()
	client := redis.NewClient(&redis.Options{Addr: r.server.Addr(), MaxRetries: -1, ReadTimeout: time.Minute, DisableIdentity: true})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = client.Do(context.Background(), args...).Err()
		_ = client.Close()
	}()
	r.t.Cleanup(func() { <-ended })
}

// predicaments are what a real server can be in, in which it proves by an error
// reply that nothing ran.
var predicaments = []struct {
	sentence     string
	enter, leave func(r *rig)
}{
	{
		sentence: "LOADING: it reads its data set",
		enter: func(r *rig) {
			r.do("DEBUG", "POPULATE", "30000", "load", "100")
			r.do("CONFIG", "SET", "key-load-delay", "100", "loading-process-events-interval-bytes", "1024")
			r.block("DEBUG", "RELOAD")
		},
		leave: func(r *rig) { r.do("CONFIG", "SET", "key-load-delay", "0") },
	},
	{
		sentence: "READONLY: it is a replica",
		enter:    func(r *rig) { r.do("REPLICAOF", "127.0.0.1", "1") },
		leave:    func(r *rig) { r.do("REPLICAOF", "NO", "ONE") },
	},
	{
		sentence: "MASTERDOWN: it is a replica that does not serve what is stale",
		enter: func(r *rig) {
			r.do("CONFIG", "SET", "replica-serve-stale-data", "no")
			r.do("REPLICAOF", "127.0.0.1", "1")
		},
		leave: func(r *rig) { r.do("REPLICAOF", "NO", "ONE") },
	},
	{
		sentence: "BUSY: a script of somebody else does not end",
		enter: func(r *rig) {
			r.do("CONFIG", "SET", "busy-reply-threshold", "1")
			r.block("EVAL", "while true do end", 0)
		},
		leave: func(r *rig) { r.do("SCRIPT", "KILL") },
	},
	{
		sentence: "OOM: its memory is full",
		enter:    func(r *rig) { r.do("CONFIG", "SET", "maxmemory", "1") },
		leave:    func(r *rig) { r.do("CONFIG", "SET", "maxmemory", "0") },
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
	},
	{
		sentence: "NOREPLICAS: too few replicas follow it",
		enter:    func(r *rig) { r.do("CONFIG", "SET", "min-replicas-to-write", "1") },
		leave:    func(r *rig) { r.do("CONFIG", "SET", "min-replicas-to-write", "0") },
	},
	{
		sentence: "NOPERM: the right to EVALSHA was taken away",
		enter:    func(r *rig) { r.do("ACL", "SETUSER", "default", "-evalsha") },
		leave:    func(r *rig) { r.do("ACL", "SETUSER", "default", "+evalsha") },
	},
}

func TestServer_whatProvesThatNothingRanIsUnavailableAndChargesNothing(t *testing.T) {
	for _, row := range predicaments {
		t.Run(row.sentence, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, redistest.Start(t, "--enable-protected-configs", "yes"), failures(never))
			who := newSubject()
			r.expect(dual, who, allowed(dual, 1, 1))
			row.enter(r)
			// Until the predicament shows, the calls are of somebody else.
			r.eventually("show", func() bool { return r.ask(dual, newSubject()) == "unavailable" })
			for _, f := range forms {
				r.expect(f, who, "unavailable")
				r.expect(f, newSubject(), "unavailable")
			}
			row.leave(r)
			r.eventually("recover", func() bool { return strings.HasPrefix(r.ask(dual, newSubject()), "allowed") })
			r.expectCharged(who, 1, 1)
			r.expect(dual, who, allowed(dual, 2, 2))
			r.demandLifetimes()
		})
	}
}

// A server that is full refuses the whole call, whichever log there is already and
// however much of it no longer counts, and still denies what it need not write for.
func TestServer_aFullServerRefusesWholeAndStillDenies(t *testing.T) {
	r := newRig(t, redistest.Start(t), failures(never))
	now := r.serverMicros()
	both, tenantAlone, userAlone, neither := newSubject(), newSubject(), newSubject(), newSubject()
	full := newSubject()
	for _, key := range []string{both.tenant, both.user, tenantAlone.tenant, userAlone.user, full.tenant} {
		r.plant(key, now-2*time.Hour.Microseconds(), now-time.Minute.Microseconds())
	}
	r.do("CONFIG", "SET", "maxmemory", "1", "maxmemory-policy", "noeviction")
	for sentence, who := range map[string]subject{
		"both logs": both, "the tenant's log": tenantAlone, "the user's log": userAlone, "no log": neither,
	} {
		for _, f := range forms {
			tenant, user := r.content(who.tenant), r.content(who.user)
			r.expect(f, who, "unavailable")
			if got := r.content(who.tenant); got != tenant {
				t.Errorf("%s, %s call: the tenant's became %s, was %s", sentence, f, got, tenant)
			}
			if got := r.content(who.user); got != user {
				t.Errorf("%s, %s call: the user's became %s, was %s", sentence, f, got, user)
			}
		}
	}
	if v, err := r.limiter.AllowContext(t.Context(), full.tenant, 1); v.Allowed || err != nil || v.RetryAfter <= 0 {
		t.Errorf("a full log on a full server: got %+v, %v, want a denial", v, err)
	}
	r.do("CONFIG", "SET", "maxmemory", "0")
	r.expect(dual, both, allowed(dual, 2, 2))
	r.expectCharged(both, 2, 2)
}

// plant writes a log of these times, which lives for a while.
func (r *rig) plant(key string, times ...int64) {
	r.t.Helper()
	for _, at := range times {
		score := strconv.FormatInt(at, 10)
		r.do("ZADD", key, score, score+"-0")
	}
	r.do("PEXPIRE", key, "3600000")
}

// serverMicros is the server's clock.
func (r *rig) serverMicros() int64 {
	r.t.Helper()
	parts := r.do("TIME").([]any)
	seconds, _ := strconv.ParseInt(parts[0].(string), 10, 64)
	micros, _ := strconv.ParseInt(parts[1].(string), 10, 64)
	return seconds*1_000_000 + micros
}

func TestState_aKeyThatIsSomethingElseIsIncompatibleAndBothStay(t *testing.T) {
	r := newRig(t, redistest.Start(t))
	for sentence, spoil := range map[string]func(key string){
		"a string":                      func(key string) { r.do("SET", key, "1") },
		"a hash":                        func(key string) { r.do("HSET", key, "a", "1") },
		"a score that is no time":       func(key string) { r.do("ZADD", key, "0.5", "a") },
		"a score beyond all times":      func(key string) { r.do("ZADD", key, "9007199254740992", "a") },
		"an infinite score":             func(key string) { r.do("ZADD", key, "+inf", "a") },
		"the state of another limiter":  func(key string) { r.do("HSET", key, "schema", "1/fixed-window/1", "observed", "1") },
		"a list that somebody appended": func(key string) { r.do("RPUSH", key, "1") },
	} {
		outer, inner := newSubject(), newSubject()
		spoil(outer.tenant)
		spoil(inner.user)
		r.plant(outer.user, r.serverMicros())
		r.plant(inner.tenant, r.serverMicros())
		for _, row := range []struct {
			form form
			who  subject
		}{{single, outer}, {dual, outer}, {dual, inner}} {
			tenant, user := r.content(row.who.tenant), r.content(row.who.user)
			r.expect(row.form, row.who, "incompatible")
			if r.content(row.who.tenant) != tenant || r.content(row.who.user) != user {
				t.Errorf("%s, %s call: the keys changed", sentence, row.form)
			}
		}
		r.expect(single, inner, allowed(single, 2, 0)) // the tenant's own log is well
	}
}

func TestState_thatIsMoreThanAWindowAheadIsClockUnsafeAndStays(t *testing.T) {
	r := newRig(t, redistest.Start(t))
	window := r.config.Window.Microseconds()
	outer, inner, near := newSubject(), newSubject(), newSubject()
	ahead := r.serverMicros() + 2*window
	r.plant(outer.tenant, ahead)
	r.plant(inner.user, ahead)
	for _, row := range []struct {
		form form
		who  subject
	}{{single, outer}, {dual, outer}, {dual, inner}} {
		tenant, user := r.content(row.who.tenant), r.content(row.who.user)
		r.expect(row.form, row.who, "clock unsafe")
		if r.content(row.who.tenant) != tenant || r.content(row.who.user) != user {
			t.Errorf("%s call: the keys changed", row.form)
		}
	}
	// Within a window the clock stands still: the call counts at the newest one's time.
	ahead = r.serverMicros() + window/2
	r.plant(near.user, ahead)
	r.expect(dual, near, allowed(dual, 1, 2))
	score := strconv.FormatInt(ahead, 10)
	for _, key := range []string{near.tenant, near.user} {
		if got := r.do("ZREVRANGE", key, "0", "0", "WITHSCORES").([]any)[1]; got != score {
			t.Errorf("%s: counted at %v, want %s", key, got, score)
		}
	}
}

// A script cache that is lost all the time costs round trips and nothing else.
func TestServer_losesItsProgramUnderLoad(t *testing.T) {
	r := newRig(t, redistest.Start(t), func(c *duallog.Config) { c.Redis.CommandTimeout = time.Minute })
	const callers, each = 8, 40
	who, done := newSubject(), make(chan struct{})
	answers := make(chan error, callers)
	for range callers {
		go func() {
			var failed error
			for range each {
				if _, _, _, err := r.limiter.Dual().AllowDual(who.tenant, duallog.MaxLimit, who.user, duallog.MaxLimit); err != nil {
					failed = err
				}
			}
			answers <- failed
		}()
	}
	go func() {
		defer close(done)
		for range callers {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
	}()
	for flushing := true; flushing; {
		select {
		case <-done:
			flushing = false
		default:
			r.do("SCRIPT", "FLUSH")
		}
	}
	r.expectCharged(who, callers*each, callers*each)
	if sources := r.server.Calls(t, "eval"); sources < 5 {
		t.Errorf("the source was sent %d times: too few to show anything", sources)
	}
}
