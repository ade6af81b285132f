module github.com/edgelimit/edgelimit/bench

go 1.26.0

replace (
	github.com/edgelimit/edgelimit/adapter-outbound-cache-redis => ../adapter-outbound-cache-redis
	github.com/edgelimit/edgelimit/shared-contract => ../shared-contract
)

require (
	github.com/edgelimit/edgelimit/adapter-outbound-cache-redis v0.0.0
	github.com/edgelimit/edgelimit/shared-contract v0.0.0
	github.com/go-redis/redis_rate/v10 v10.0.1
	github.com/google/pprof v0.0.0-20261105003125-4bf881d7fb0b
	github.com/redis/go-redis/v9 v9.23.0
	github.com/redis/rueidis v1.0.80
	github.com/throttled/throttled/v2 v2.15.0
	github.com/ulule/limiter/v3 v3.11.2
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/sony/gobreaker/v2 v2.4.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
)
