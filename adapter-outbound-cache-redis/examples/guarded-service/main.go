// Command guarded-service is a service that guards a handler by the Redis
// provider. It needs REDIS_ADDR (host:port) and EDGELIMIT_HMAC_SECRET (32 bytes or
// more).
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/secret"
	"github.com/edgelimit/edgelimit/shared-contract/subject"
)

func main() {
	if err := run(os.Getenv("REDIS_ADDR"), os.Getenv("EDGELIMIT_HMAC_SECRET")); err != nil {
		log.Fatal(err)
	}
}

func run(redisAddr, secretText string) error {
	shared, err := secret.New([]byte(secretText))
	if err != nil {
		return fmt.Errorf("EDGELIMIT_HMAC_SECRET: %w", err)
	}
	limiter, err := openLimiter(redisAddr, shared)
	if err != nil {
		return err
	}
	defer limiter.Close()

	mux := http.NewServeMux()
	mux.Handle("GET /report", guard(limiter, subject.NewDigester(shared), limiter.Budget(), http.HandlerFunc(report)))
	server := &http.Server{Addr: "127.0.0.1:8081", Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	return server.ListenAndServe()
}

func openLimiter(redisAddr string, shared secret.Secret) (*redislimit.Provider, error) {
	policy, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: "reports", Revision: 1, MaxCost: 1, FailureMode: ratelimit.FailClosed,
		Algorithm:    ratelimit.TokenBucket{Capacity: 20, RefillTokens: 10, RefillPeriod: time.Second},
		CleanupGrace: 30 * time.Second, MaxClockRegression: 2 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	return redislimit.Open(redislimit.Config{
		KeyPrefix: "edgelimit", Secret: shared, Policies: []ratelimit.Policy{policy},
		Redis: coordination.Config{
			Addr: redisAddr, DialTimeout: time.Second, CommandTimeout: 50 * time.Millisecond,
			MaxInFlight: 64, AdmissionWait: 5 * time.Millisecond,
			BreakerFailures: 5, BreakerProbeEvery: time.Second,
		},
	})
}
