package redislimit_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/key"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/secret"
)

const (
	policyLimit    = 100
	commandTimeout = 300 * time.Millisecond
	callerDeadline = 10 * time.Second
	patience       = 15 * time.Second // for what must come by itself
	pollEvery      = 2 * time.Millisecond
)

// policies are one of each algorithm that frees nothing within a test.
func policies(t testing.TB) []ratelimit.Policy {
	t.Helper()
	var all []ratelimit.Policy
	for _, a := range []ratelimit.Algorithm{
		ratelimit.FixedWindow{Limit: policyLimit, Window: 366 * 24 * time.Hour},
		ratelimit.SlidingWindowCounter{Limit: policyLimit, Window: 100 * 24 * time.Hour},
		ratelimit.TokenBucket{Capacity: policyLimit, RefillTokens: 1, RefillPeriod: 24 * time.Hour},
	} {
		all = append(all, policyOf(t, string(a.Name()), a))
	}
	return all
}

func policyOf(t testing.TB, id string, a ratelimit.Algorithm) ratelimit.Policy {
	t.Helper()
	p, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: id, Revision: 1, Algorithm: a, MaxCost: 1, FailureMode: ratelimit.FailClosed,
		MaxClockRegression: 2 * time.Second, CleanupGrace: 30 * time.Second,
	})
	if err == nil {
		p, err = ratelimit.NewPolicy(ratelimit.PolicyConfig{
			ID: id, Revision: 1, Algorithm: a, MaxCost: p.Limit(), FailureMode: ratelimit.FailClosed,
			MaxClockRegression: 2 * time.Second, CleanupGrace: 30 * time.Second,
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func testSecret() secret.Secret {
	s, err := secret.New([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		panic(err)
	}
	return s
}

func configFor(addr string, policies []ratelimit.Policy) redislimit.Config {
	return redislimit.Config{
		Redis: coordination.Config{
			Addr: addr, DialTimeout: time.Second, CommandTimeout: commandTimeout,
			MaxInFlight: 16, AdmissionWait: 250 * time.Millisecond,
			BreakerFailures: 5, BreakerProbeEvery: 200 * time.Millisecond,
		},
		KeyPrefix: "edgelimit", Secret: testSecret(), Policies: policies,
	}
}

// rig is a provider at a server, through a link that can fail.
type rig struct {
	t        *testing.T
	server   *redistest.Server
	link     *redistest.Link
	config   redislimit.Config
	provider *redislimit.Provider
}

// newRig opens a provider and waits until it is ready. Each change may alter
// the config before.
func newRig(t *testing.T, server *redistest.Server, changes ...func(*redislimit.Config)) *rig {
	t.Helper()
	r := newUnreadyRig(t, server, changes...)
	r.awaitReady()
	return r
}

func newUnreadyRig(t *testing.T, server *redistest.Server, changes ...func(*redislimit.Config)) *rig {
	t.Helper()
	r := &rig{t: t, server: server, link: redistest.NewLink(t, server.Addr())}
	r.config = configFor(r.link.Addr(), policies(t))
	for _, change := range changes {
		change(&r.config)
	}
	r.open()
	return r
}

func (r *rig) open() {
	r.t.Helper()
	provider, err := redislimit.Open(r.config)
	if err != nil {
		r.t.Fatal(err)
	}
	r.provider = provider
	r.t.Cleanup(func() { _ = provider.Close() })
}

func (r *rig) health() coordination.Health { return r.provider.Connection().Health() }

func (r *rig) awaitReady() {
	r.t.Helper()
	r.eventually("be ready", func() bool { return r.health().Ready })
	// Warm, so that a fault set next meets no dial still under way.
	warm := min(8, r.config.Redis.MaxInFlight)
	r.eventually("be warm", func() bool {
		stats := r.provider.Connection().Stats()
		return stats.Dialing == 0 && stats.Idle >= warm
	})
}

// eventually polls for what must come by itself.
func (r *rig) eventually(what string, holds func() bool) time.Duration {
	r.t.Helper()
	began := time.Now()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !holds() {
		if time.Since(began) > patience {
			r.t.Fatalf("did not %s within %v; health %+v, stats %+v", what, patience, r.health(), r.provider.Connection().Stats())
		}
		<-tick.C
	}
	return time.Since(began)
}

func (r *rig) evaluate(policyID, subject string, cost int64) ratelimit.Outcome {
	ctx, cancel := context.WithTimeout(context.Background(), callerDeadline)
	defer cancel()
	return r.provider.Evaluate(ctx, ratelimit.Request{PolicyID: policyID, SubjectDigest: subject, Cost: cost})
}

// expect evaluates and demands one outcome, in the words of say.
func (r *rig) expect(policyID, subject string, cost int64, want string) {
	r.t.Helper()
	if got := say(r.evaluate(policyID, subject, cost)); got != want {
		r.t.Errorf("%s, cost %d: got %s, want %s", policyID, cost, got, want)
	}
}

// say is an outcome in a few words.
func say(o ratelimit.Outcome) string {
	return ratelimit.Match(o,
		func(e ratelimit.Evaluated) string {
			return fmt.Sprintf("%s %d", map[bool]string{true: "allowed", false: "denied"}[e.Decision.Allowed], e.Decision.Remaining)
		},
		func(u ratelimit.Unavailable) string { return "unavailable " + string(u.Category) },
		func(ratelimit.Indeterminate) string { return "indeterminate" },
		func(i ratelimit.Incompatible) string { return "incompatible " + string(i.Category) })
}

func allowed(remaining int64) string { return "allowed " + strconv.FormatInt(remaining, 10) }

func subject() string { return "subject-" + rand.Text() }

// stateKey is the physical key of a subject under a policy.
func (r *rig) stateKey(policyID, digest string) string {
	r.t.Helper()
	keys, err := key.NewBuilder(r.config.KeyPrefix, r.config.Secret)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, p := range r.config.Policies {
		if p.ID() == policyID {
			return keys.Series("rate", policyID, "state", policyID, strconv.FormatInt(p.Revision(), 10),
				string(p.Algorithm().Name())).Key(digest)
		}
	}
	r.t.Fatalf("no policy %s", policyID)
	return ""
}

// charged is what the server itself has charged to a subject.
func (r *rig) charged(policyID, digest string) int64 {
	r.t.Helper()
	reply := r.server.Do(r.t, "HGETALL", r.stateKey(policyID, digest))
	flat, ok := reply.([]any)
	if !ok {
		r.t.Fatalf("HGETALL: %v", reply)
	}
	fields := map[string]int64{}
	for i := 0; i+1 < len(flat); i += 2 {
		fields[flat[i].(string)], _ = strconv.ParseInt(flat[i+1].(string), 10, 64)
	}
	if len(fields) == 0 {
		return 0
	}
	if tokens, bucket := fields["tokens"]; bucket {
		return (r.limitOf(policyID)*ratelimit.TokenScale - tokens + ratelimit.TokenScale - 1) / ratelimit.TokenScale
	}
	return fields["consumed"] + fields["previous"] + fields["current"]
}

func (r *rig) limitOf(policyID string) int64 {
	for _, p := range r.config.Policies {
		if p.ID() == policyID {
			return p.Limit()
		}
	}
	return 0
}

func (r *rig) expectCharged(policyID, digest string, want int64) {
	r.t.Helper()
	if got := r.charged(policyID, digest); got != want {
		r.t.Errorf("%s: the server charged %d, want %d", policyID, got, want)
	}
}

// occupy makes n calls that stand still, each on a connection of its own, and returns
// how to wait for them.
func (r *rig) occupy(n int, call func()) (wait func()) {
	r.t.Helper()
	var all sync.WaitGroup
	for i := range n {
		all.Go(call)
		r.eventually("have a connection", func() bool { return r.provider.Connection().Stats().InFlight > i })
	}
	return all.Wait
}

// keys lists the keys of one kind on the server.
func (r *rig) keys(kind string) []string {
	r.t.Helper()
	var found []string
	for _, name := range r.server.Do(r.t, "KEYS", r.config.KeyPrefix+":v1:rate:*:"+kind+":*").([]any) {
		found = append(found, name.(string))
	}
	return found
}

// demandLifetimes fails if a key of the provider lives for ever.
func (r *rig) demandLifetimes() {
	r.t.Helper()
	for _, kind := range []string{"state", "probe"} {
		for _, name := range r.keys(kind) {
			if r.server.Do(r.t, "PTTL", name) == int64(-1) {
				r.t.Errorf("key %s has no lifetime", name)
			}
		}
	}
}

// plant writes a state as the programs would.
func (r *rig) plant(policyID, digest string, fields ...string) {
	r.t.Helper()
	for _, p := range r.config.Policies {
		if p.ID() == policyID {
			r.server.Do(r.t, append([]string{"HSET", r.stateKey(policyID, digest), "schema", program.Schema(p)}, fields...)...)
		}
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

// serverMillis is the server's clock.
func (r *rig) serverMillis() int64 {
	r.t.Helper()
	parts := r.server.Do(r.t, "TIME").([]any)
	seconds, _ := strconv.ParseInt(parts[0].(string), 10, 64)
	micros, _ := strconv.ParseInt(parts[1].(string), 10, 64)
	return seconds*1000 + micros/1000
}

func contains(texts []string, part string) bool {
	return strings.Contains(strings.Join(texts, "\n"), part)
}

// configChange lets a test alter a provider's config.
type configChange = redislimit.Config

const largeLimit = 20_000

// largePolicies are policies whose limit no test reaches.
func largePolicies(t testing.TB) []ratelimit.Policy {
	t.Helper()
	return []ratelimit.Policy{
		policyOf(t, "fixed-window", ratelimit.FixedWindow{Limit: largeLimit, Window: 366 * 24 * time.Hour}),
		policyOf(t, "sliding-window-counter", ratelimit.SlidingWindowCounter{Limit: largeLimit, Window: 100 * 24 * time.Hour}),
		policyOf(t, "token-bucket", ratelimit.TokenBucket{Capacity: largeLimit, RefillTokens: largeLimit, RefillPeriod: 366 * 24 * time.Hour}),
	}
}

// resolveTo makes c dial before, and after once moved is set.
func resolveTo(c *redislimit.Config, moved *atomic.Bool, before, after string) {
	c.Redis.Resolve = func(context.Context) (string, error) {
		if moved.Load() {
			return after, nil
		}
		return before, nil
	}
}
