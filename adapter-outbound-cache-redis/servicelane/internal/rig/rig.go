// Package rig is a limiter at a lane's server, behind a link that can fail, and what a test needs to ask both.
//
// The one rule that matters: what was charged is read from the server, past the link, and never inferred from answers.
package rig

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/key"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/secret"
)

// ProtocolVariable is the RESP version that the lane speaks: 2, which is the default, or 3.
const ProtocolVariable = "EDGELIMIT_REDIS_PROTOCOL"

const (
	Limit          = 100 // of each of Policies
	CommandTimeout = 300 * time.Millisecond
	Patience       = 20 * time.Second // for what must come by itself
)

// Rig is a provider of the edge port on a line, and its configuration.
type Rig struct {
	*Line
	Config   redislimit.Config
	Provider *redislimit.Provider
}

// Protocol is what the lane speaks.
func Protocol(tb testing.TB) int {
	tb.Helper()
	switch text := os.Getenv(ProtocolVariable); text {
	case "", "2":
		return 2
	case "3":
		return 3
	default:
		tb.Fatalf("%s is %q, which is neither 2 nor 3", ProtocolVariable, text)
		return 0
	}
}

// Policies are one of each algorithm, of Limit, that free nothing within a test. Their ids are the algorithms' names.
func Policies(tb testing.TB) []ratelimit.Policy {
	tb.Helper()
	return []ratelimit.Policy{
		Policy(tb, ratelimit.FixedWindow{Limit: Limit, Window: 366 * 24 * time.Hour}),
		Policy(tb, ratelimit.SlidingWindowCounter{Limit: Limit, Window: 100 * 24 * time.Hour}),
		Policy(tb, ratelimit.TokenBucket{Capacity: Limit, RefillTokens: 1, RefillPeriod: 24 * time.Hour}),
	}
}

// Policy is one of revision 1 named after its algorithm, whose largest cost is 1 or, where the algorithm holds more,
// the whole limit.
func Policy(tb testing.TB, a ratelimit.Algorithm) ratelimit.Policy {
	tb.Helper()
	return PolicyNamed(tb, string(a.Name()), a)
}

// PolicyNamed is Policy under an id of its own, so that one rig can have several of an algorithm.
func PolicyNamed(tb testing.TB, id string, a ratelimit.Algorithm) ratelimit.Policy {
	tb.Helper()
	most := ratelimit.MatchAlgorithm(a,
		func(a ratelimit.FixedWindow) int64 { return a.Limit },
		func(a ratelimit.SlidingWindowCounter) int64 { return a.Limit },
		func(a ratelimit.TokenBucket) int64 { return a.Capacity })
	p, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: id, Revision: 1, Algorithm: a, MaxCost: most, FailureMode: ratelimit.FailClosed,
		MaxClockRegression: 2 * time.Second, CleanupGrace: 30 * time.Second,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// New opens a provider at addr and waits until it is ready and warm, so that a fault set next meets no dial under way.
// Each change may alter the config before. The key prefix is of this rig alone.
func New(tb testing.TB, addr string, server Witness, changes ...func(*redislimit.Config)) *Rig {
	tb.Helper()
	r := NewUnready(tb, addr, server, changes...)
	r.AwaitReady()
	return r
}

// NewUnready is New without the wait.
func NewUnready(tb testing.TB, addr string, server Witness, changes ...func(*redislimit.Config)) *Rig {
	tb.Helper()
	own, err := secret.New([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		tb.Fatal(err)
	}
	r := &Rig{Line: NewLine(tb, addr, server)}
	r.Config = redislimit.Config{Redis: r.Redis, KeyPrefix: "lane." + token(), Secret: own, Policies: Policies(tb)}
	for _, change := range changes {
		change(&r.Config)
	}
	if r.Provider, err = redislimit.Open(r.Config); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = r.Provider.Close() })
	r.Redis, r.Connection = r.Config.Redis, r.Provider.Connection()
	return r
}

// Evaluate asks the provider, with a deadline beyond its budget.
func (r *Rig) Evaluate(policyID, subject string, cost int64) ratelimit.Outcome {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	return r.Provider.Evaluate(ctx, ratelimit.Request{PolicyID: policyID, SubjectDigest: subject, Cost: cost})
}

// Expect evaluates and demands one outcome, in the words of Say.
func (r *Rig) Expect(policyID, subject string, cost int64, want string) {
	r.T.Helper()
	if got := Say(r.Evaluate(policyID, subject, cost)); got != want {
		r.T.Errorf("%s, cost %d: got %s, want %s", policyID, cost, got, want)
	}
}

// Say is an outcome in a few words: "allowed 99", "denied 0", "unavailable SERVER", "indeterminate".
func Say(o ratelimit.Outcome) string {
	return ratelimit.Match(o,
		func(e ratelimit.Evaluated) string {
			if e.Decision.Allowed {
				return Allowed(e.Decision.Remaining)
			}
			return "denied " + strconv.FormatInt(e.Decision.Remaining, 10)
		},
		func(u ratelimit.Unavailable) string { return "unavailable " + string(u.Category) },
		func(ratelimit.Indeterminate) string { return "indeterminate" },
		func(i ratelimit.Incompatible) string { return "incompatible " + string(i.Category) })
}

// Allowed is what Say says of an admission.
func Allowed(remaining int64) string { return "allowed " + strconv.FormatInt(remaining, 10) }

// Subject is a digest, or a tenant, that nobody else has.
func Subject() string { return "subject-" + token() }

// StateKey is the key that holds a subject's state under one of the rig's policies.
func (r *Rig) StateKey(policyID, subject string) string {
	r.T.Helper()
	keys, err := key.NewBuilder(r.Config.KeyPrefix, r.Config.Secret)
	if err != nil {
		r.T.Fatal(err)
	}
	p := r.policy(policyID)
	return keys.Series("rate", policyID, "state", policyID, strconv.FormatInt(p.Revision(), 10),
		string(p.Algorithm().Name())).Key(subject)
}

func (r *Rig) policy(id string) ratelimit.Policy {
	r.T.Helper()
	for _, p := range r.Config.Policies {
		if p.ID() == id {
			return p
		}
	}
	r.T.Fatalf("no policy %s", id)
	return ratelimit.Policy{}
}

// State is the fields of a subject's state, empty without one.
func (r *Rig) State(policyID, subject string) map[string]string {
	r.T.Helper()
	flat, ok := r.Server.Do(r.T, "HGETALL", r.StateKey(policyID, subject)).([]any)
	if !ok {
		r.T.Fatalf("%s is no hash", r.StateKey(policyID, subject))
	}
	fields := map[string]string{}
	for i := 0; i+1 < len(flat); i += 2 {
		fields[fmt.Sprint(flat[i])] = fmt.Sprint(flat[i+1])
	}
	return fields
}

// Charged is what the server has charged to a subject, by its state. Of a token bucket it is what is missing now,
// so the policy must refill nothing meanwhile.
func (r *Rig) Charged(policyID, subject string) int64 {
	r.T.Helper()
	fields := r.State(policyID, subject)
	if len(fields) == 0 {
		return 0
	}
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(fields[name], 10, 64)
		return n
	}
	if _, bucket := fields["tokens"]; bucket {
		missing := r.policy(policyID).Limit()*ratelimit.TokenScale - number("tokens")
		return (missing + ratelimit.TokenScale - 1) / ratelimit.TokenScale
	}
	return number("consumed") + number("previous") + number("current")
}

func token() string { return strings.ToLower(rand.Text()[:12]) }
