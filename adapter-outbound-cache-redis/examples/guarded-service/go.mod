module github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/examples/guarded-service

go 1.26.0

require (
	github.com/edgelimit/edgelimit/adapter-outbound-cache-redis v0.0.0
	github.com/edgelimit/edgelimit/shared-contract v0.0.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/redis/go-redis/v9 v9.23.0 // indirect
	github.com/sony/gobreaker/v2 v2.4.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
)

// An importer outside this repository writes the same two lines, with the paths
// of its own checkout.
replace (
	github.com/edgelimit/edgelimit/adapter-outbound-cache-redis => ../..
	github.com/edgelimit/edgelimit/shared-contract => ../../../shared-contract
)
