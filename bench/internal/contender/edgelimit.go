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

// day is the window of everything that has one, so that none ends in a run.
const day = 24 * time.Hour

// The names of this repository's algorithms.
const (
	FixedWindow          = "edgelimit fixed window"
	SlidingWindowCounter = "edgelimit sliding-window counter"
	TokenBucket          = "edgelimit token bucket"

	// DenialCache repeats what was denied within ten seconds.
	DenialCache = "edgelimit fixed window, denial cache"
)

// Edgelimit is this repository's provider, by each of its algorithms.
func Edgelimit(path Path) []Contender {
	units := path.units()
	// The bucket takes the longest time to fill that there is, about, so that it is
	// never full when it is asked.
	return []Contender{
		edgelimit(FixedWindow, path, ratelimit.FixedWindow{Limit: units, Window: day}, redislimit.DenialCache{}),
		edgelimit(SlidingWindowCounter, path, ratelimit.SlidingWindowCounter{Limit: units, Window: day}, redislimit.DenialCache{}),
		edgelimit(TokenBucket, path, ratelimit.TokenBucket{Capacity: units, RefillTokens: units, RefillPeriod: 300 * day}, redislimit.DenialCache{}),
	}
}

// NewDenialCache is the provider on the denied path with a denial cache that holds
// every subject.
func NewDenialCache() Contender {
	return edgelimit(DenialCache, Denied, ratelimit.FixedWindow{Limit: Denied.units(), Window: day},
		redislimit.DenialCache{MaxEntries: 100_000, MaxAge: 10 * time.Second})
}

func edgelimit(name string, path Path, algorithm ratelimit.Algorithm, denials redislimit.DenialCache) Contender {
	return Contender{Name: name, Path: path, Open: func(addr string, names []string) (Limiter, error) {
		id := string(path)
		provider, err := openProvider(addr, id, algorithm, denials)
		if err != nil {
			return nil, err
		}
		if err := await(provider.Connection()); err != nil {
			return nil, errors.Join(err, provider.Close())
		}
		return opened{close: provider.Close, caller: func(ctx context.Context) Decide {
			return func(subject int) (bool, error) {
				return answer(provider.Evaluate(ctx, ratelimit.Request{PolicyID: id, SubjectDigest: names[subject], Cost: 1}))
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

func openProvider(addr, id string, algorithm ratelimit.Algorithm, denials redislimit.DenialCache) (*redislimit.Provider, error) {
	policy, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: id, Revision: 1, Algorithm: algorithm, MaxCost: 1, FailureMode: ratelimit.FailClosed,
		CleanupGrace: day, MaxClockRegression: 2 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	key, err := secret.New([]byte("a benchmark's secret of 32 bytes"))
	if err != nil {
		return nil, err
	}
	return redislimit.Open(redislimit.Config{
		Redis: connection(addr), KeyPrefix: "edgelimit", Secret: key, Policies: []ratelimit.Policy{policy},
		DenialCache: denials,
	})
}

// connection has the gateway's default of places in flight. Its times are longer,
// so that a slow moment is a figure and not a refusal.
func connection(addr string) coordination.Config {
	return coordination.Config{
		Addr: addr, DialTimeout: 5 * time.Second, CommandTimeout: 5 * time.Second,
		MaxInFlight: 512, AdmissionWait: 5 * time.Second, BreakerFailures: 5, BreakerProbeEvery: time.Second,
	}
}

// await returns once the connection was tried.
func await(c coordination.Endpoint) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return c.AwaitFirstAttempt(ctx)
}
