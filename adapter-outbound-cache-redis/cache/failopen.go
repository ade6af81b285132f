package cache

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sony/gobreaker/v2"

	contract "github.com/edgelimit/edgelimit/shared-contract/cache"
)

// FailOpenConfig is when a FailOpen stops asking, and who is told.
type FailOpenConfig struct {
	// Failures in a row open the breaker. ProbeEvery later one call at a time tries
	// again: one that the cache serves closes it, one that fails opens it anew, and
	// after one that says nothing about the cache the next may try at once. Both are
	// above 0.
	Failures   int
	ProbeEvery time.Duration

	// OnFailure, if set, is told of every call that the cache failed to serve, by its
	// cause: CauseConnection while the breaker is open. It must not block.
	OnFailure func(contract.Cause)

	// Logger, if set, hears when the breaker opens and when it closes.
	Logger *slog.Logger
}

// FailOpen is a cache whose failures are misses: for those who go on without it. A
// write that failed stays Unavailable, as it stored nothing that can be relied on. It
// takes a cache port and is one; there is none for a limiter's port. It is safe for
// concurrent use.
type FailOpen struct {
	port      contract.CachePort
	breaker   *gobreaker.TwoStepCircuitBreaker[struct{}]
	onFailure func(contract.Cause)
}

var _ contract.CachePort = (*FailOpen)(nil)

// NewFailOpen makes a FailOpen of port.
func NewFailOpen(port contract.CachePort, c FailOpenConfig) (*FailOpen, error) {
	if port == nil || c.Failures < 1 || c.ProbeEvery <= 0 {
		return nil, errors.New("cache: a fail-open cache needs a port, and Failures and ProbeEvery above 0")
	}
	f := &FailOpen{port: port, onFailure: c.OnFailure}
	if f.onFailure == nil {
		f.onFailure = func(contract.Cause) {}
	}
	f.breaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout:     c.ProbeEvery,
		ReadyToTrip: func(n gobreaker.Counts) bool { return int(n.ConsecutiveFailures) >= c.Failures },
		IsExcluded:  func(err error) bool { return err == errNothing },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			switch {
			case c.Logger == nil:
			case from == gobreaker.StateClosed:
				c.Logger.Warn("cache breaker", "from", from.String(), "to", to.String())
			case to == gobreaker.StateClosed:
				c.Logger.Info("cache breaker", "from", from.String(), "to", to.String())
			}
		},
	})
	return f, nil
}

// Breaker is closed, half-open or open.
func (f *FailOpen) Breaker() string { return f.breaker.State().String() }

// Get implements [contract.CachePort]. It answers a hit or a miss, unless the caller
// is to blame.
func (f *FailOpen) Get(ctx context.Context, k contract.Key) contract.Reading {
	r, asked := guard(f, readSays, func() (contract.Reading, contract.Cause) {
		r := f.port.Get(ctx, k)
		return r, contract.MatchReading(r, func(contract.Hit) contract.Cause { return "" },
			func(contract.Miss) contract.Cause { return "" },
			func(u contract.Unavailable) contract.Cause { return u.Cause })
	})
	if !asked {
		return contract.Miss{}.Reading()
	}
	return contract.MatchReading(r, contract.Hit.Reading, contract.Miss.Reading,
		func(u contract.Unavailable) contract.Reading {
			if ofCaller(u.Cause) {
				return u.Reading()
			}
			return contract.Miss{}.Reading()
		})
}

// Put implements [contract.CachePort].
func (f *FailOpen) Put(ctx context.Context, k contract.Key, e contract.Entry) contract.Writing {
	return f.write(func() contract.Writing { return f.port.Put(ctx, k, e) })
}

// PutIfAbsent implements [contract.CachePort].
func (f *FailOpen) PutIfAbsent(ctx context.Context, k contract.Key, e contract.Entry) contract.Writing {
	return f.write(func() contract.Writing { return f.port.PutIfAbsent(ctx, k, e) })
}

// CompareAndReplace implements [contract.CachePort].
func (f *FailOpen) CompareAndReplace(ctx context.Context, k contract.Key, observed contract.Token, e contract.Entry) contract.Writing {
	return f.write(func() contract.Writing { return f.port.CompareAndReplace(ctx, k, observed, e) })
}

// Delete implements [contract.CachePort].
func (f *FailOpen) Delete(ctx context.Context, k contract.Key) contract.Writing {
	return f.write(func() contract.Writing { return f.port.Delete(ctx, k) })
}

func (f *FailOpen) write(ask func() contract.Writing) contract.Writing {
	w, asked := guard(f, writeSays, func() (contract.Writing, contract.Cause) {
		w := ask()
		return w, contract.MatchWriting(w, func(contract.Stored) contract.Cause { return "" },
			func(contract.Conflict) contract.Cause { return "" },
			func(u contract.Unavailable) contract.Cause { return u.Cause })
	})
	if !asked {
		return contract.Unavailable{Cause: contract.CauseConnection}.Writing()
	}
	return w
}

var (
	errCache   = errors.New("the cache did not serve")
	errNothing = errors.New("nothing was learnt about the cache")
)

// ofCaller tells whether a call was refused for what the caller passed.
func ofCaller(c contract.Cause) bool {
	return c == contract.CauseRequest || c == contract.CauseDeadline
}

// readSays is what a read that ended so says about the cache.
func readSays(c contract.Cause) error {
	switch {
	case c == "" || c == contract.CauseState: // the server has answered
		return nil
	case ofCaller(c):
		return errNothing
	default:
		return errCache
	}
}

// writeSays is what a write that ended so says about the cache: a server that is full
// refuses writes and serves reads.
func writeSays(c contract.Cause) error {
	if c == contract.CauseServer {
		return errNothing
	}
	return readSays(c)
}

// guard asks if the breaker lets it, and tells the breaker what the cause says, and
// the observer of a failure.
func guard[T any](f *FailOpen, says func(contract.Cause) error, ask func() (T, contract.Cause)) (answer T, asked bool) {
	report, err := f.breaker.Allow()
	if err != nil {
		f.onFailure(contract.CauseConnection)
		return answer, false
	}
	answer, cause := ask()
	report(says(cause))
	if cause != "" && !ofCaller(cause) {
		f.onFailure(cause)
	}
	return answer, true
}
