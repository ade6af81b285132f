package cache

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/executor"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/key"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	contract "github.com/edgelimit/edgelimit/shared-contract/cache"
)

// Redis is the cache port on one Redis server. It is safe for concurrent use. Make
// one with Open, and Close it.
type Redis struct {
	client *redis.Client
	keys   key.Builder
}

var _ contract.CachePort = (*Redis)(nil)

// Open makes a Redis. It returns an error for a config that cannot work, never
// because Redis is away: it connects when it is first asked, and again after any
// failure.
func Open(c Config) (*Redis, error) {
	keys, err := key.NewBuilder(c.KeyPrefix, c.Secret)
	if err := errors.Join(c.validate(), err); err != nil {
		return nil, err
	}
	return &Redis{keys: keys, client: redis.NewClient(&redis.Options{
		Addr: c.Addr, Username: c.Username, Password: c.Password, DB: c.Database, TLSConfig: c.TLS,
		Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		DialTimeout:              c.DialTimeout, DialerRetries: 1,
		ReadTimeout: c.CommandTimeout, WriteTimeout: c.CommandTimeout, PoolTimeout: c.CommandTimeout,
		ContextTimeoutEnabled: true,
		MaxRetries:            -1, // a write is never repeated
		PoolSize:              c.MaxConnections, MaxActiveConns: c.MaxConnections,
	})}, nil
}

// Close ends the connections; later calls are Unavailable CONNECTION.
func (r *Redis) Close() error { return r.client.Close() }

// RunID is what the server calls its present run, or "" if it does not tell. It
// tells servers apart that have several names. The error is of a server that did not
// answer, or not to this client: it may tell later.
func (r *Redis) RunID(ctx context.Context) (string, error) {
	text, err := r.client.Info(ctx, "server").Result()
	if redis.HasErrorPrefix(err, "NOPERM") || redis.HasErrorPrefix(err, "unknown command") {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("ask the cache's server for its run id: %w", err)
	}
	for line := range strings.SplitSeq(text, "\r\n") {
		if id, ok := strings.CutPrefix(line, "run_id:"); ok {
			return id, nil
		}
	}
	return "", nil
}

// looks are how many are taken at an entry that others replace meanwhile.
const looks = 3

// Get implements [contract.CachePort]. An entry that is replaced during every look is
// a miss.
func (r *Redis) Get(ctx context.Context, k contract.Key) contract.Reading {
	if cause, refused := refuse(ctx, k.IsZero()); refused {
		return contract.Unavailable{Cause: cause}.Reading()
	}
	for range looks {
		seen, err := r.look(ctx, r.keyOf(k))
		if err != nil {
			return contract.Unavailable{Cause: causeOf(err)}.Reading()
		}
		if !seen.replaced() {
			return seen.reading()
		}
	}
	return contract.Miss{}.Reading() // no fault of the server's, so no failure
}

// look asks in one pipeline and not in a transaction, which a server that is full
// refuses though it serves reads.
func (r *Redis) look(ctx context.Context, name string) (sight, error) {
	var stored, again *redis.StringCmd
	var left *redis.DurationCmd
	_, err := r.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		stored = p.GetRange(ctx, name, 0, contract.TokenLen+contract.MaxValueLen) // a byte too many, so that it shows
		left = p.PTTL(ctx, name)
		again = p.GetRange(ctx, name, 0, contract.TokenLen-1)
		return nil
	})
	if err != nil {
		return sight{}, err
	}
	return sight{stored: stored.Val(), left: left.Val(), again: again.Val()}, nil
}

// sight is a look at an entry: what is stored, how long it has left, and the token
// that was there after that. Other clients' writes may come between the three.
type sight struct {
	stored string
	left   time.Duration
	again  string
}

// What PTTL says in place of a time.
const (
	leftForever = time.Duration(-1)
	leftGone    = time.Duration(-2)
)

// replaced tells whether left may be of another write than stored. No write's token
// comes back, so the same one before and after was there in between.
func (s sight) replaced() bool { return s.stored[:min(len(s.stored), contract.TokenLen)] != s.again }

func (s sight) reading() contract.Reading {
	if s.left == leftGone || s.left == 0 {
		return contract.Miss{}.Reading()
	}
	if s.left == leftForever || len(s.stored) < contract.TokenLen || len(s.stored) > contract.TokenLen+contract.MaxValueLen {
		return contract.Unavailable{Cause: contract.CauseState}.Reading()
	}
	token, ok := contract.ParseToken([]byte(s.stored[:contract.TokenLen]))
	if !ok {
		return contract.Unavailable{Cause: contract.CauseState}.Reading()
	}
	return contract.Hit{Value: []byte(s.stored[contract.TokenLen:]), Token: token, TTL: s.left}.Reading()
}

// Put implements [contract.CachePort].
func (r *Redis) Put(ctx context.Context, k contract.Key, e contract.Entry) contract.Writing {
	return write(ctx, k, e, func(text string) (bool, error) {
		return true, r.client.Do(ctx, "SET", r.keyOf(k), text, "PX", e.TTL().Milliseconds()).Err()
	})
}

// PutIfAbsent implements [contract.CachePort] by SET NX PX.
func (r *Redis) PutIfAbsent(ctx context.Context, k contract.Key, e contract.Entry) contract.Writing {
	return write(ctx, k, e, func(text string) (bool, error) {
		err := r.client.Do(ctx, "SET", r.keyOf(k), text, "PX", e.TTL().Milliseconds(), "NX").Err()
		if errors.Is(err, redis.Nil) {
			return false, nil
		}
		return true, err
	})
}

// CompareAndReplace implements [contract.CachePort] by a program.
func (r *Redis) CompareAndReplace(ctx context.Context, k contract.Key, observed contract.Token, e contract.Entry) contract.Writing {
	return write(ctx, k, e, func(text string) (bool, error) {
		argv := []string{string(observed.Bytes()), text, fmt.Sprint(e.TTL().Milliseconds())}
		replaced, err := executor.Scalar(ctx, r.client, program.CacheCompareAndReplace, []string{r.keyOf(k)}, argv)
		return replaced == int64(1), err
	})
}

// Delete implements [contract.CachePort].
func (r *Redis) Delete(ctx context.Context, k contract.Key) contract.Writing {
	if cause, refused := refuse(ctx, k.IsZero()); refused {
		return contract.Unavailable{Cause: cause}.Writing()
	}
	if err := r.client.Del(ctx, r.keyOf(k)).Err(); err != nil {
		return contract.Unavailable{Cause: causeOf(err)}.Writing()
	}
	return contract.Stored{}.Writing()
}

// write stores e under a new token by one dispatch of store, which tells whether it
// did.
func write(ctx context.Context, k contract.Key, e contract.Entry, store func(text string) (bool, error)) contract.Writing {
	if cause, refused := refuse(ctx, k.IsZero() || e.IsZero()); refused {
		return contract.Unavailable{Cause: cause}.Writing()
	}
	token := contract.NewToken()
	stored, err := store(string(token.Bytes()) + string(e.Value()))
	switch {
	case err != nil:
		return contract.Unavailable{Cause: causeOf(err)}.Writing()
	case !stored:
		return contract.Conflict{}.Writing()
	default:
		return contract.Stored{Token: token}.Writing()
	}
}

// keyOf is the physical key of k.
func (r *Redis) keyOf(k contract.Key) string {
	return r.keys.Series("cache", k.Region(), "entry").Key(k.Name())
}

// refuse says why a call is not sent.
func refuse(ctx context.Context, zero bool) (contract.Cause, bool) {
	if zero {
		return contract.CauseRequest, true
	}
	if _, finite := ctx.Deadline(); !finite || ctx.Err() != nil {
		return contract.CauseDeadline, true
	}
	return "", false
}

// causeOf says what a failed command means. Only an answer of the server, and a
// failure to connect, prove that nothing ran.
func causeOf(err error) contract.Cause {
	var answered redis.Error
	var network *net.OpError
	switch {
	case redis.HasErrorPrefix(err, "WRONGTYPE"):
		return contract.CauseState
	case errors.Is(err, redis.ErrClosed), errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return contract.CauseConnection
	case errors.As(err, &answered):
		return contract.CauseServer
	case errors.As(err, &network) && network.Op == "dial":
		return contract.CauseConnection
	default:
		return contract.CauseUnknown
	}
}
