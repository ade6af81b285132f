package program_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

func TestVectors_everyNumberOnEveryServer(t *testing.T) {
	servers(t, func(t *testing.T, client *redis.Client) { programtest.Vectors(t, client, "") })
}

func TestVectors_everyNumberOfTheLogOnEveryServer(t *testing.T) {
	servers(t, func(t *testing.T, client *redis.Client) { programtest.LogVectors(t, client, "") })
}

func TestBatch_givesEveryNumberOfTheVectors(t *testing.T) {
	programtest.BatchVectors(t, connect(t, redistest.Start(t).Addr()), "")
}
