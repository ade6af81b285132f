package faults_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// limiter is what a fault meets.
type limiter interface {
	ways() []string // in which it is asked: under a policy, or in so many layers
	limit(way string) int64
	// evaluate answers in the words of rig.Say, or in its own that kind.word has.
	evaluate(ctx context.Context, q question) string
	charged(q question) int64 // by the server's word
	patterns() (states, probes string)
}

// question is one evaluation.
type question struct {
	way, subject string
	cost         int64 // 1 for the log, which has no other
}

func questionOf(way string) question { return question{way, rig.Subject(), 1} }

// one is a question of the same subject at cost 1.
func (q question) one() question { return question{q.way, q.subject, 1} }

// kind is which limiter a row is of.
type kind struct {
	name   string
	open   func(t *testing.T, own server.Server, changes []func(*options)) (*rig.Line, limiter)
	word   func(said string) string                  // what it says where the edge port says said
	wait   func(c coordination.Config) time.Duration // for a place in flight
	bound  func(c coordination.Config) time.Duration // of a refusal in a crowd
	rights []taking
	keys   func(user string) string // the pattern of keys of who comes as user

	// countsAnswers tells that its breaker counts what the server refuses in words.
	countsAnswers bool
}

// never is a breaker that does not open within a row.
const never = 1 << 30

// shut keeps a breaker that counts answers from hiding the server's.
func (k *kind) shut(o *options) {
	if k.countsAnswers {
		o.BreakerFailures = never
	}
}

var kinds = []*kind{&edgePort, &slidingLog}

// options are what a row may alter.
type options struct {
	*coordination.Config
	unlimited bool               // a limit that no row reaches
	policies  []ratelimit.Policy // of the edge port, in place of the rig's
	window    time.Duration      // of the log
}

func unlimited(o *options) { o.unlimited = true }

// each runs a test of either limiter.
func each(t *testing.T, test func(t *testing.T, k *kind)) {
	t.Helper()
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			test(t, k)
		})
	}
}

// edgePort is the provider of the edge port.
var edgePort = kind{
	name:   "edge port",
	open:   openPort,
	word:   func(said string) string { return said },
	wait:   func(c coordination.Config) time.Duration { return c.AdmissionWait },
	bound:  func(c coordination.Config) time.Duration { return 2*c.AdmissionWait + crowdSlack },
	rights: portRights,
	keys:   func(user string) string { return "lane." + user + ":*" },
}

// port is the provider as a fault meets it.
type port struct{ *rig.Rig }

func openPort(t *testing.T, own server.Server, changes []func(*options)) (*rig.Line, limiter) {
	t.Helper()
	r := rig.NewUnready(t, own.Addr(), own, func(c *redislimit.Config) {
		o := options{Config: &c.Redis, policies: c.Policies}
		for _, change := range changes {
			change(&o)
		}
		if o.unlimited {
			o.policies = policiesBeyond(t)
		}
		c.Policies = o.policies
		if o.Username != "" {
			c.KeyPrefix = "lane." + o.Username
		}
	})
	return r.Line, port{r}
}

func (p port) ways() []string {
	var ways []string
	for _, policy := range p.Config.Policies {
		ways = append(ways, policy.ID())
	}
	return ways
}

func (p port) limit(way string) int64 {
	for _, policy := range p.Config.Policies {
		if policy.ID() == way {
			return policy.Limit()
		}
	}
	return 0
}

func (p port) evaluate(ctx context.Context, q question) string {
	return rig.Say(p.Provider.Evaluate(ctx, ratelimit.Request{PolicyID: q.way, SubjectDigest: q.subject, Cost: q.cost}))
}

func (p port) charged(q question) int64 { return p.Charged(q.way, q.subject) }

func (p port) patterns() (states, probes string) {
	rate := p.Config.KeyPrefix + ":v1:rate:*:"
	return rate + "state:*", rate + "probe:*"
}

// first is the first word of what was said.
func first(said string) string {
	word, _, _ := strings.Cut(said, " ")
	return word
}
