package duallog_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/duallog"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// The limits of a rig's calls. Nothing leaves the window within a test.
const (
	tenantLimit = 100
	userLimit   = 50
)

const (
	shortTimeout = 600 * time.Millisecond // of a call that is to time out
	longest      = 15 * time.Second       // for what must come by itself
	lookEvery    = 2 * time.Millisecond
)

// rig is a limiter at a server, through a link that can fail.
type rig struct {
	t       *testing.T
	server  *redistest.Server
	link    *redistest.Link
	config  duallog.Config
	limiter *duallog.RedisLimiter
}

// newRig opens a limiter and waits until it is ready. Each change may alter the
// config before.
func newRig(t *testing.T, server *redistest.Server, changes ...func(*duallog.Config)) *rig {
	t.Helper()
	r := newUnreadyRig(t, server, changes...)
	r.awaitReady()
	return r
}

func newUnreadyRig(t *testing.T, server *redistest.Server, changes ...func(*duallog.Config)) *rig {
	t.Helper()
	r := &rig{t: t, server: server, link: redistest.NewLink(t, server.Addr())}
	r.config = configFor(r.link.Addr(), time.Hour)
	for _, change := range changes {
		change(&r.config)
	}
	r.limiter = open(t, r.config)
	return r
}

func timeout(d time.Duration) func(*duallog.Config) {
	return func(c *duallog.Config) { c.Redis.CommandTimeout = d }
}

func failures(n int) func(*duallog.Config) {
	return func(c *duallog.Config) { c.Redis.BreakerFailures = n }
}

// never is a breaker that does not open within a test.
const never = 1 << 30

func (r *rig) health() coordination.Health { return r.limiter.Connection().Health() }

func (r *rig) awaitReady() {
	r.t.Helper()
	r.eventually("be ready", func() bool { return r.health().Ready })
	// Warm, so that a fault set next meets no dial still under way.
	warm := min(8, r.config.Redis.MaxInFlight)
	r.eventually("be warm", func() bool {
		stats := r.limiter.Connection().Stats()
		return stats.Dialing == 0 && stats.Idle >= warm
	})
}

// eventually polls for what must come by itself.
func (r *rig) eventually(what string, holds func() bool) {
	r.t.Helper()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for began := time.Now(); !holds(); <-tick.C {
		if time.Since(began) > longest {
			r.t.Fatalf("did not %s within %v; health %+v, stats %+v, breaker %s", what, longest,
				r.health(), r.limiter.Connection().Stats(), r.limiter.Connection().Breaker())
		}
	}
}

// subject is a tenant and one of its users, as whole keys.
type subject struct{ tenant, user string }

func newSubject() subject {
	tenant := "rl:{" + rand.Text() + "}"
	return subject{tenant, tenant + ":user:ann"}
}

// form is one of the two calls there are.
type form struct {
	name string
	call func(ctx context.Context, r *rig, who subject) (slidinglog.Verdict, error)
}

var single = form{"single", func(ctx context.Context, r *rig, who subject) (slidinglog.Verdict, error) {
	return r.limiter.AllowContext(ctx, who.tenant, tenantLimit)
}}

var dual = form{"dual", func(ctx context.Context, r *rig, who subject) (slidinglog.Verdict, error) {
	return r.limiter.Dual().AllowDualContext(ctx, who.tenant, tenantLimit, who.user, userLimit)
}}

var forms = []form{single, dual}

func (f form) String() string { return f.name }

// say is a call's answer in a few words.
func (r *rig) say(ctx context.Context, f form, who subject) string {
	return say(f.call(ctx, r, who))
}

// ask makes a call without a deadline.
func (r *rig) ask(f form, who subject) string { return r.say(context.Background(), f, who) }

// expect makes a call and demands one answer, in the words of say.
func (r *rig) expect(f form, who subject, want string) {
	r.t.Helper()
	if got := r.ask(f, who); got != want {
		r.t.Errorf("%s call: got %s, want %s", f, got, want)
	}
}

var kinds = map[string]error{
	"invalid": slidinglog.ErrInvalid, "unavailable": slidinglog.ErrUnavailable, "unknown": slidinglog.ErrUnknown,
	"clock unsafe": slidinglog.ErrClockUnsafe, "incompatible": slidinglog.ErrIncompatible,
}

// say is a verdict, or the one kind of an error, in a few words.
func say(v slidinglog.Verdict, err error) string {
	if err == nil {
		return fmt.Sprintf("%s %d %d", map[bool]string{true: "allowed", false: "denied"}[v.Allowed], v.Outer.Remaining, v.Inner.Remaining)
	}
	said := "an error of no kind"
	for kind, sentinel := range kinds {
		if errors.Is(err, sentinel) {
			said = strings.TrimPrefix(said+" and "+kind, "an error of no kind and ")
		}
	}
	if v != (slidinglog.Verdict{}) {
		said += " beside a verdict"
	}
	return said
}

// allowed is the answer to a call of f after which the tenant and the user were
// counted so many times.
func allowed(f form, tenantCounted, userCounted int) string {
	if f.name == single.name {
		return fmt.Sprintf("allowed %d 0", tenantLimit-tenantCounted)
	}
	return fmt.Sprintf("allowed %d %d", tenantLimit-tenantCounted, userLimit-userCounted)
}

// cardinality is how many calls the log of key holds, by the server's own word.
func cardinality(t *testing.T, server *redistest.Server, key string) int {
	t.Helper()
	n, ok := server.Do(t, "ZCARD", key).(int64)
	if !ok {
		t.Fatalf("ZCARD %s: %v", key, server.Do(t, "ZCARD", key))
	}
	return int(n)
}

func (r *rig) expectCharged(who subject, tenant, user int) {
	r.t.Helper()
	gotTenant, gotUser := cardinality(r.t, r.server, who.tenant), cardinality(r.t, r.server, who.user)
	if gotTenant != tenant || gotUser != user {
		r.t.Errorf("the server charged %d to the tenant and %d to the user, want %d and %d", gotTenant, gotUser, tenant, user)
	}
}

func (r *rig) expectBreaker(want string) {
	r.t.Helper()
	if got := r.limiter.Connection().Breaker(); got != want {
		r.t.Errorf("the breaker is %s, want %s", got, want)
	}
}

// do sends one command straight to the server, which must not refuse it.
func (r *rig) do(args ...string) any {
	r.t.Helper()
	reply := r.server.Do(r.t, args...)
	if refused, ok := reply.(redistest.ServerError); ok {
		r.t.Fatalf("%q: %v", args, refused)
	}
	return reply
}

// content is all that a server says of a key: its value, and when it expires.
func (r *rig) content(key string) string {
	r.t.Helper()
	return fmt.Sprintf("%q until %v", r.do("DUMP", key), r.do("PEXPIRETIME", key))
}

// demandLifetimes fails if a key of the limiter lives for ever.
func (r *rig) demandLifetimes() {
	r.t.Helper()
	for _, key := range r.do("KEYS", "rl:*").([]any) {
		if r.do("PTTL", key.(string)) == int64(-1) {
			r.t.Errorf("key %s has no lifetime", key)
		}
	}
}
