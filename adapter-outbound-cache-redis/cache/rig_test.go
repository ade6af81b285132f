package cache_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/cache"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	contract "github.com/edgelimit/edgelimit/shared-contract/cache"
	"github.com/edgelimit/edgelimit/shared-contract/secret"
)

func configOf(t *testing.T, addr string) cache.Config {
	t.Helper()
	made, err := secret.New([]byte(strings.Repeat("s", secret.MinLen)))
	if err != nil {
		t.Fatal(err)
	}
	return cache.Config{
		Addr: addr, DialTimeout: 10 * time.Second, CommandTimeout: 10 * time.Second, MaxConnections: 8,
		KeyPrefix: "test", Secret: made,
	}
}

func open(t *testing.T, c cache.Config) *cache.Redis {
	t.Helper()
	opened, err := cache.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	return opened
}

// rig is a cache behind a link that fails on command.
type rig struct {
	*testing.T
	server *redistest.Server
	link   *redistest.Link
	config cache.Config
	cache  contract.CachePort
}

func newRig(t *testing.T, directives ...string) *rig {
	server := redistest.Start(t, directives...)
	link := redistest.NewLink(t, server.Addr())
	config := configOf(t, link.Addr())
	return &rig{T: t, server: server, link: link, config: config, cache: open(t, config)}
}

// within is a context of a minute: no test waits for its end.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func keyOf(t *testing.T, name string) contract.Key {
	t.Helper()
	k, err := contract.NewKey("limits", name)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func entryOf(t *testing.T, value string, ttl time.Duration) contract.Entry {
	t.Helper()
	e, err := contract.NewEntry([]byte(value), ttl)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func reading(r contract.Reading) string {
	return contract.MatchReading(r,
		func(h contract.Hit) string { return "hit " + string(h.Value) },
		func(contract.Miss) string { return "miss" },
		func(u contract.Unavailable) string { return "unavailable " + string(u.Cause) })
}

func writing(w contract.Writing) string {
	return contract.MatchWriting(w,
		func(contract.Stored) string { return "stored" },
		func(contract.Conflict) string { return "conflict" },
		func(u contract.Unavailable) string { return "unavailable " + string(u.Cause) })
}

func tokenOf(w contract.Writing) contract.Token {
	return contract.MatchWriting(w, func(s contract.Stored) contract.Token { return s.Token },
		func(contract.Conflict) contract.Token { return contract.Token{} },
		func(contract.Unavailable) contract.Token { return contract.Token{} })
}

// physical is the one key of the server.
func (r *rig) physical() string {
	r.Helper()
	keys, _ := r.server.Do(r.T, "KEYS", "*").([]any)
	if len(keys) != 1 {
		r.Fatalf("got keys %v, want one", keys)
	}
	return keys[0].(string)
}
