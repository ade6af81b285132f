package program_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
)

func TestLog_aKeyThatIsNoLogIsRefusedAndBothAreLeftAlone(t *testing.T) {
	servers(t, func(t *testing.T, client *redis.Client) { programtest.LogRefusesKeys(t, client, "") })
}

func TestLog_aDenialAndAnUnsafeClockWriteNothing(t *testing.T) {
	servers(t, func(t *testing.T, client *redis.Client) { programtest.LogKeepsLogs(t, client, "") })
}
