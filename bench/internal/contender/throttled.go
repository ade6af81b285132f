package contender

import (
	"context"

	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2"
	store "github.com/throttled/throttled/v2/store/goredisstore.v9"
)

// mostThrottled is a limit near the largest at which throttled's burst, in
// nanoseconds, fits an int64.
const mostThrottled = 2_000_000

// NewThrottled is github.com/throttled/throttled: GCRA in the client, by
// compare-and-swap.
func NewThrottled(path Path) Contender {
	quota := throttled.RateQuota{MaxRate: throttled.PerHour(1), MaxBurst: int(min(path.units(), mostThrottled)) - 1}
	return Contender{Name: "throttled", Path: path, Open: func(addr string, names []string) (Limiter, error) {
		client := redis.NewClient(&redis.Options{Addr: addr})
		states, err := store.NewCtx(client, "throttled:")
		if err != nil {
			_ = client.Close()
			return nil, err
		}
		rates, err := throttled.NewGCRARateLimiterCtx(states, quota)
		if err != nil {
			_ = client.Close()
			return nil, err
		}
		return opened{close: client.Close, caller: func(context.Context) Decide {
			ctx := context.Background()
			return func(subject int) (bool, error) {
				limited, _, err := rates.RateLimitCtx(ctx, names[subject], 1)
				return err == nil && !limited, err
			}
		}}, nil
	}}
}
