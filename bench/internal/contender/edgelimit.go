package contender

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/secret"
)

// day is how long what has no window lives.
const day = 24 * time.Hour

// window is that of everything that has one, and near the longest that there is.
// Windows begin at multiples of their length: hardly a run sees one of these end.
const window = 100 * day

// The names of this repository's algorithms.
const (
	FixedWindow          = "edgelimit fixed window"
	SlidingWindowCounter = "edgelimit sliding-window counter"
	TokenBucket          = "edgelimit token bucket"

	// DenialCache repeats what was denied within ten seconds.
	DenialCache = "edgelimit fixed window, denial cache"

	// GroupCommit shares writes to Redis and no program.
	GroupCommit = "edgelimit token bucket, group commit alone"

	// Patient has a wait for a place that more callers than places can keep to.
	Patient = "edgelimit token bucket, admission wait 5s"
)

// service is a provider with the one policy that it is asked by.
type service struct {
	name, id  string
	path      Path
	algorithm ratelimit.Algorithm
	grace     time.Duration
	redis     func(addr string) coordination.Config
	denials   redislimit.DenialCache
}

// Edgelimit is this repository's provider, by each of its algorithms.
func Edgelimit(path Path) []Contender {
	units := path.units()
	return []Contender{
		serviceOf(FixedWindow, path, ratelimit.FixedWindow{Limit: units, Window: window}).contender(),
		serviceOf(SlidingWindowCounter, path, ratelimit.SlidingWindowCounter{Limit: units, Window: window}).contender(),
		bucket(TokenBucket, path).contender(),
	}
}

// NewDenialCache is the provider on the denied path with a denial cache that holds
// every subject.
func NewDenialCache() Contender {
	s := serviceOf(DenialCache, Denied, ratelimit.FixedWindow{Limit: Denied.units(), Window: window})
	s.denials = redislimit.DenialCache{MaxEntries: 100_000, MaxAge: 10 * time.Second}
	c := s.contender()
	c.Ages = true
	return c
}

// NewGroupCommit is the provider by a policy whose evaluations run one by one: the
// grace is too short for the batch program. Its states end soon for the same reason.
func NewGroupCommit() Contender {
	s := bucket(GroupCommit, Allowed)
	s.id, s.grace = "alone", time.Second-time.Millisecond
	c := s.contender()
	c.Ages = true
	return c
}

// NewTokenBucket is the provider on the allowed path by the algorithm whose growth
// is shown.
func NewTokenBucket() Contender { return bucket(TokenBucket, Allowed).contender() }

// NewPatient is the provider for more callers than it has places.
func NewPatient() Contender {
	s := bucket(Patient, Allowed)
	s.redis = func(addr string) coordination.Config {
		c := connection(addr)
		c.AdmissionWait = 5 * time.Second
		return c
	}
	return s.contender()
}

// bucket takes the longest time to fill that there is, about, so that it is never
// full when it is asked.
func bucket(name string, path Path) service {
	units := path.units()
	return serviceOf(name, path, ratelimit.TokenBucket{Capacity: units, RefillTokens: units, RefillPeriod: 300 * day})
}

func serviceOf(name string, path Path, algorithm ratelimit.Algorithm) service {
	return service{name: name, id: string(path), path: path, algorithm: algorithm, grace: day, redis: connection}
}

func (s service) contender() Contender {
	return Contender{Name: s.name, Path: s.path, Open: func(addr string, names []string) (Limiter, error) {
		provider, err := s.open(addr)
		if err != nil {
			return nil, err
		}
		if err := await(provider.Connection()); err != nil {
			return nil, errors.Join(err, provider.Close())
		}
		return opened{close: provider.Close, caller: func(ctx context.Context) Decide {
			return func(subject int) (bool, error) {
				return answer(provider.Evaluate(ctx, ratelimit.Request{PolicyID: s.id, SubjectDigest: names[subject], Cost: 1}))
			}
		}}, nil
	}}
}

func answer(o ratelimit.Outcome) (bool, error) {
	if o.Kind() != ratelimit.KindEvaluated {
		return false, fmt.Errorf("no decision: %v", o)
	}
	return o.Allows(), nil
}

func (s service) open(addr string) (*redislimit.Provider, error) {
	policy, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: s.id, Revision: 1, Algorithm: s.algorithm, MaxCost: 1, FailureMode: ratelimit.FailClosed,
		CleanupGrace: s.grace, MaxClockRegression: 2 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	key, err := secret.New([]byte("a benchmark's secret of 32 bytes"))
	if err != nil {
		return nil, err
	}
	return redislimit.Open(redislimit.Config{
		Redis: s.redis(addr), KeyPrefix: "edgelimit", Secret: key, Policies: []ratelimit.Policy{policy},
		DenialCache: s.denials,
	})
}

// connection is what the gateway has by default, but for the command timeout: a
// moment in which the machine is busy otherwise is a figure and not a failure.
func connection(addr string) coordination.Config {
	return coordination.Config{
		Addr: addr, DialTimeout: time.Second, CommandTimeout: 5 * time.Second,
		MaxInFlight: 512, AdmissionWait: 5 * time.Millisecond, BreakerFailures: 5, BreakerProbeEvery: time.Second,
	}
}

// await returns once the connection was tried.
func await(c coordination.Endpoint) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return c.AwaitFirstAttempt(ctx)
}
