package contender

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// The names of the program without arithmetic, by the way that it goes.
const (
	Floor             = "floor: realistic script, plain go-redis"
	FloorAutoPipeline = "floor: same script, go-redis AutoPipeline"
)

// realistic does what a limiter that keeps eight fields on server time asks of
// Redis, and decides nothing.
const realistic = `local time = redis.call('TIME')
local state = redis.call('HMGET', KEYS[1], 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')
redis.call('HSET', KEYS[1], 'a', time[1], 'b', time[2], 'c', '3', 'd', '4', 'e', '5', 'f', '6', 'g', '7', 'h', '8')
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return {1, tonumber(time[1]), tonumber(time[2]), 4, 5, 6, 7}`

// Floors are the realistic program through go-redis: one command a call, and
// through its own pipelining.
func Floors() []Contender {
	return []Contender{
		{Name: Floor, Path: Allowed, Open: func(addr string, names []string) (Limiter, error) {
			client := redis.NewClient(&redis.Options{Addr: addr})
			return opened{caller: floor(client, names), close: client.Close}, nil
		}},
		{Name: FloorAutoPipeline, Path: Allowed, Open: func(addr string, names []string) (Limiter, error) {
			client := redis.NewClient(&redis.Options{Addr: addr})
			pipeline, err := client.AutoPipeline()
			if err != nil {
				return nil, errors.Join(err, client.Close())
			}
			return opened{caller: floor(pipeline, names), close: func() error {
				return errors.Join(pipeline.Close(), client.Close())
			}}, nil
		}},
	}
}

func floor(through redis.Scripter, names []string) func(context.Context) Decide {
	script, keys := redis.NewScript(realistic), prefixed("floor:", names)
	return func(context.Context) Decide {
		ctx := context.Background()
		return func(subject int) (bool, error) {
			fields, err := script.Run(ctx, through, keys[subject:subject+1], day.Milliseconds()).Slice()
			if err == nil && len(fields) != 7 {
				err = errors.New("not seven integers")
			}
			return err == nil, err
		}
	}
}
