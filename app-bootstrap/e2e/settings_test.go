package e2e_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// settings is a configuration by key path.
type settings map[string]any

// policy is one item of app.rate-limit.policies, route one of the routes.
type (
	policy map[string]any
	route  map[string]any
)

// The longest windows that the algorithms take: no test crosses the end of one.
const (
	wideWindow    = "8784h"
	widestCounter = "2400h"
)

func fixedWindow(id string, limit int) policy {
	return policy{"id": id, "revision": 1, "algorithm": "fixed-window", "limit": limit, "window": wideWindow}
}

func slidingCounter(id string, limit int) policy {
	return policy{"id": id, "revision": 1, "algorithm": "sliding-window-counter", "limit": limit, "window": widestCounter}
}

// tokenBucket refills too slowly for any test to see.
func tokenBucket(id string, capacity int) policy {
	return policy{"id": id, "revision": 1, "algorithm": "token-bucket", "capacity": capacity, "refill-tokens": 1, "refill-period": "24h"}
}

func (p policy) maxCost(most int) policy {
	p = maps.Clone(p)
	p["max-cost"] = most
	return p
}

const hmacSecret = "e2e-secret-of-more-than-32-bytes-0123456789"

// limiting is a complete configuration with rate limiting on, listening on free
// ports. The times are long: where a test is about counts, the machine's noise
// must not decide.
func limiting(t testing.TB, redis, upstream string, policies ...policy) settings {
	t.Helper()
	s := settings{
		"app.server.listen":                     "127.0.0.1:0",
		"app.server.admin-listen":               "127.0.0.1:0",
		"app.rate-limit.enabled":                true,
		"app.rate-limit.provider":               "redis",
		"app.rate-limit.failure-policy":         "fail-closed",
		"app.rate-limit.default-policy":         policies[0]["id"],
		"app.rate-limit.policies":               policies,
		"app.rate-limit.redis.role":             "coordination",
		"app.rate-limit.redis.endpoint":         "redis://" + redis + "/0",
		"app.rate-limit.redis.hmac-secret-file": secretFile(t, hmacSecret),
		"app.rate-limit.redis.command-timeout":  "5s",
		"app.rate-limit.redis.admission-wait":   "5s",
		"app.rate-limit.redis.max-in-flight":    32,
	}
	if upstream != "" {
		s["app.gateway.upstream"] = upstream
	}
	return s
}

func (s settings) with(key string, value any) settings {
	s = maps.Clone(s)
	s[key] = value
	return s
}

func (s settings) without(key string) settings {
	s = maps.Clone(s)
	delete(s, key)
	return s
}

// file writes the configuration. JSON is YAML.
func (s settings) file(t testing.TB) string {
	t.Helper()
	tree := map[string]any{}
	for key, value := range s {
		at := tree
		path := strings.Split(key, ".")
		for _, section := range path[:len(path)-1] {
			if at[section] == nil {
				at[section] = map[string]any{}
			}
			at = at[section].(map[string]any)
		}
		at[path[len(path)-1]] = value
	}
	content, err := json.MarshalIndent(tree, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return fileOf(t, "edgelimit.yaml", string(content))
}

// secretFile is a file as an operator makes one: the secret and a newline.
func secretFile(t testing.TB, secret string) string {
	t.Helper()
	return fileOf(t, "secret", secret+"\n")
}

func fileOf(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
