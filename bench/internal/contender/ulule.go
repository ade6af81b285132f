package contender

import (
	"context"

	"github.com/redis/go-redis/v9"
	"github.com/ulule/limiter/v3"
	store "github.com/ulule/limiter/v3/drivers/store/redis"
)

// NewUlule is github.com/ulule/limiter: a fixed window that begins with the first
// call, charges denied calls, and takes the reset from the client's clock.
func NewUlule(path Path) Contender {
	rate := limiter.Rate{Period: day, Limit: path.units()}
	return Contender{Name: "ulule/limiter", Path: path, Open: func(addr string, names []string) (Limiter, error) {
		client := redis.NewClient(&redis.Options{Addr: addr})
		counts, err := store.NewStore(client)
		if err != nil {
			_ = client.Close()
			return nil, err
		}
		rates := limiter.New(counts, rate)
		return opened{close: client.Close, caller: func(context.Context) Decide {
			ctx := context.Background()
			return func(subject int) (bool, error) {
				state, err := rates.Get(ctx, names[subject])
				return err == nil && !state.Reached, err
			}
		}}, nil
	}}
}
