// Package edgetest sets up a judge over a scripted port, for the tests of the
// packages that put one to use.
package edgetest

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/edge"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/route"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/secret"
	"github.com/edgelimit/edgelimit/shared-contract/subject"
)

// ObservedAt is the instant at which the outcomes of this package were decided.
const ObservedAt = 1_700_000_000_000

// Port answers by a function and remembers what it was asked.
type Port struct {
	Answer func(ctx context.Context, req ratelimit.Request) ratelimit.Outcome

	mu    sync.Mutex
	asked []ratelimit.Request
}

// Always is a Port with one answer.
func Always(o ratelimit.Outcome) *Port {
	return &Port{Answer: func(context.Context, ratelimit.Request) ratelimit.Outcome { return o }}
}

// Counting is a Port that admits limit requests in all.
func Counting(limit int64) *Port {
	var mu sync.Mutex
	left := limit
	return &Port{Answer: func(_ context.Context, req ratelimit.Request) ratelimit.Outcome {
		mu.Lock()
		defer mu.Unlock()
		if req.Cost > left {
			return Denied(limit, left, time.Second)
		}
		left -= req.Cost
		return Allowed(limit, left)
	}}
}

// Evaluate implements ratelimit.EdgeRateLimitPort.
func (p *Port) Evaluate(ctx context.Context, req ratelimit.Request) ratelimit.Outcome {
	p.mu.Lock()
	p.asked = append(p.asked, req)
	p.mu.Unlock()
	return p.Answer(ctx, req)
}

// Asked is every request so far.
func (p *Port) Asked() []ratelimit.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]ratelimit.Request(nil), p.asked...)
}

// Allowed is an allowing outcome of the policy api that resets in 1.5 seconds.
func Allowed(limit, remaining int64) ratelimit.Outcome {
	return ratelimit.Evaluated{Decision: decision(true, limit, remaining)}.Outcome()
}

// Denied is a denying outcome of the policy api.
func Denied(limit, remaining int64, retryAfter time.Duration) ratelimit.Outcome {
	d := decision(false, limit, remaining)
	d.RetryAfter = retryAfter
	return ratelimit.Evaluated{Decision: d}.Outcome()
}

func decision(allowed bool, limit, remaining int64) ratelimit.Decision {
	return ratelimit.Decision{
		Allowed: allowed, Limit: limit, Remaining: remaining,
		ObservedAtMillis: ObservedAt, ResetAtMillis: ObservedAt + 1500,
		PolicyID: "api", PolicyRevision: 3, Source: ratelimit.GlobalRedis, Certainty: ratelimit.Certain,
	}
}

// Setup is what a judge of a test differs in.
type Setup struct {
	Port     ratelimit.EdgeRateLimitPort
	Trusted  []string // trusted proxies
	Header   string   // subject header
	Rules    []route.Rule
	RawPaths route.RawPaths
}

// Budget is the budget of every judge of this package.
const Budget = 55 * time.Millisecond

// Judge has the policies api (the default) and search, limit 100, maximum cost 5.
func Judge(t testing.TB, s Setup) *edge.Judge {
	t.Helper()
	j, err := edge.NewJudge(Config(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// Config is the configuration of [Judge].
func Config(t testing.TB, s Setup) edge.Config {
	t.Helper()
	proxies, err := identity.ParseProxies(s.Trusted)
	if err != nil {
		t.Fatal(err)
	}
	resolver, err := identity.NewResolver(identity.Config{
		Proxies: proxies, IPv6PrefixBits: identity.DefaultIPv6PrefixBits, SubjectHeader: s.Header,
	})
	if err != nil {
		t.Fatal(err)
	}
	table, err := route.NewTable(route.Config{
		Policies: []ratelimit.Policy{policy(t, "api"), policy(t, "search")}, Default: "api", Rules: s.Rules,
	})
	if err != nil {
		t.Fatal(err)
	}
	return edge.Config{
		Port: s.Port, Digester: Digester(t), Resolver: resolver, Table: table,
		Budget: Budget, RawPaths: s.RawPaths,
	}
}

// Digester is the digester of every judge of this package.
func Digester(t testing.TB) subject.Digester {
	t.Helper()
	s, err := secret.New(bytes.Repeat([]byte("k"), secret.MinLen))
	if err != nil {
		t.Fatal(err)
	}
	return subject.NewDigester(s)
}

// Digest is the pseudonym of an address, or of a name when text is none.
func Digest(t testing.TB, text string) string {
	t.Helper()
	if addr, ok := identity.ParseAddr(text); ok {
		s, err := subject.IP(addr, identity.DefaultIPv6PrefixBits)
		if err != nil {
			t.Fatal(err)
		}
		return Digester(t).Digest(s)
	}
	return Digester(t).Digest(subject.Name(text))
}

func policy(t testing.TB, id string) ratelimit.Policy {
	t.Helper()
	p, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: id, Revision: 3, Algorithm: ratelimit.FixedWindow{Limit: 100, Window: time.Minute},
		MaxCost: 5, FailureMode: ratelimit.FailClosed,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
