package contender

import (
	"context"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
)

// RedisRate is the name of the peer that most bars are set by.
const RedisRate = "redis_rate"

// NewRedisRate is github.com/go-redis/redis_rate: GCRA on server time.
func NewRedisRate(path Path) Contender {
	limit := redis_rate.Limit{Rate: 1, Burst: int(path.units()), Period: time.Hour}
	return Contender{Name: RedisRate, Path: path, Open: func(addr string, names []string) (Limiter, error) {
		client := redis.NewClient(&redis.Options{Addr: addr})
		rates := redis_rate.NewLimiter(client)
		return opened{close: client.Close, caller: func(context.Context) Decide {
			ctx := context.Background()
			return func(subject int) (bool, error) {
				result, err := rates.Allow(ctx, names[subject], limit)
				return err == nil && result.Allowed > 0, err
			}
		}}, nil
	}}
}
