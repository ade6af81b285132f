package promises_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/cache"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/key"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	contract "github.com/edgelimit/edgelimit/shared-contract/cache"
	"github.com/edgelimit/edgelimit/shared-contract/cache/cachetest"
	"github.com/edgelimit/edgelimit/shared-contract/secret"
)

// cached is a cache on the scene's keys, and one entry of it.
type cached struct {
	*scene
	port     *cache.Redis
	key      contract.Key
	physical string
}

func (s *scene) secret() secret.Secret {
	s.Helper()
	made, err := secret.New([]byte(strings.Repeat("s", secret.MinLen)))
	if err != nil {
		s.Fatal(err)
	}
	return made
}

func (s *scene) cacheAt(addr string) *cache.Redis {
	s.Helper()
	port, err := cache.Open(cache.Config{
		Addr: addr, Password: s.server.Password, DialTimeout: generous, CommandTimeout: generous, MaxConnections: 100,
		KeyPrefix: s.prefix, Secret: s.secret(),
	})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = port.Close() })
	return port
}

func newCached(s *scene, name string) *cached {
	s.Helper()
	k, err := contract.NewKey("limits", name)
	if err != nil {
		s.Fatal(err)
	}
	keys, err := key.NewBuilder(s.prefix, s.secret())
	if err != nil {
		s.Fatal(err)
	}
	return &cached{s, s.cacheAt(s.server.Addr), k, keys.Series("cache", k.Region(), "entry").Key(k.Name())}
}

// within is a context that ends only if a server that is well does not answer at all.
func (s *scene) within() context.Context {
	ctx, cancel := context.WithTimeout(s.Context(), 4*generous)
	s.Cleanup(cancel)
	return ctx
}

func entry(t *testing.T, value string, ttl time.Duration) contract.Entry {
	t.Helper()
	e, err := contract.NewEntry([]byte(value), ttl)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func written(w contract.Writing) (string, contract.Token) {
	var token contract.Token
	return contract.MatchWriting(w,
		func(s contract.Stored) string { token = s.Token; return "stored" },
		func(contract.Conflict) string { return "conflict" },
		func(u contract.Unavailable) string { return "unavailable " + string(u.Cause) }), token
}

func read(r contract.Reading) string {
	return contract.MatchReading(r,
		func(h contract.Hit) string { return "hit " + string(h.Value) },
		func(contract.Miss) string { return "miss" },
		func(u contract.Unavailable) string { return "unavailable " + string(u.Cause) })
}

func firstWins(t *testing.T, at redistest.Witness) {
	c := newCached(newScene(t, at), "first")
	got, token := written(c.port.PutIfAbsent(c.within(), c.key, entry(t, "first", time.Minute)))
	if stored := c.do("GET", c.physical); got != "stored" || stored != string(token.Bytes())+"first" {
		t.Errorf("got %s, and the server holds %q", got, stored)
	}
	before := programtest.Content(t, c.client, c.physical)
	for range 3 {
		if got, _ := written(c.port.PutIfAbsent(c.within(), c.key, entry(t, "second", time.Hour))); got != "conflict" {
			t.Errorf("got %s, want conflict", got)
		}
	}
	if after := programtest.Content(t, c.client, c.physical); after != before {
		t.Errorf("conflicts left %q, was %q", after, before)
	}
}

func tokenWins(t *testing.T, at redistest.Witness) {
	c := newCached(newScene(t, at), "replaced")
	_, first := written(c.port.Put(c.within(), c.key, entry(t, "one", time.Minute)))
	got, second := written(c.port.CompareAndReplace(c.within(), c.key, first, entry(t, "two", time.Minute)))
	if stored := c.do("GET", c.physical); got != "stored" || stored != string(second.Bytes())+"two" {
		t.Errorf("got %s, and the server holds %q", got, stored)
	}
	before := programtest.Content(t, c.client, c.physical)
	for sentence, token := range map[string]contract.Token{"of the write before": first, "of no write here": contract.NewToken(), "none": {}} {
		if got, _ := written(c.port.CompareAndReplace(c.within(), c.key, token, entry(t, "three", time.Hour))); got != "conflict" {
			t.Errorf("a token %s: got %s, want conflict", sentence, got)
		}
	}
	if after := programtest.Content(t, c.client, c.physical); after != before {
		t.Errorf("conflicts left %q, was %q", after, before)
	}
	if got := read(c.port.Get(c.within(), c.key)); got != "hit two" {
		t.Errorf("got %s, want hit two", got)
	}
	c.do("DEL", c.physical)
	if got, _ := written(c.port.CompareAndReplace(c.within(), c.key, second, entry(t, "four", time.Minute))); got != "conflict" {
		t.Errorf("nothing is there: got %s, want conflict", got)
	}
	if n := c.do("EXISTS", c.physical); n != int64(0) {
		t.Error("a replace brought back what was gone")
	}
}

func foreignEntries(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	for _, foreign := range append(programtest.ForeignTypes(), programtest.Hash("the key is a hash", "a", "1")) {
		if foreign.Sentence == "the key is a string" || foreign.Sentence == "the key is a counter" { // which is one, too
			continue
		}
		c := newCached(s, foreign.Sentence)
		foreign.Plant(t, s.client, c.physical)
		s.client.PExpire(t.Context(), c.physical, time.Hour)
		before := programtest.Content(t, s.client, c.physical)
		if got := read(c.port.Get(s.within(), c.key)); got != "unavailable STATE" {
			t.Errorf("%s: read: got %s, want unavailable STATE", foreign.Sentence, got)
		}
		if got, _ := written(c.port.CompareAndReplace(s.within(), c.key, contract.NewToken(), entry(t, "v", time.Minute))); got != "unavailable STATE" {
			t.Errorf("%s: replace: got %s, want unavailable STATE", foreign.Sentence, got)
		}
		if got, _ := written(c.port.PutIfAbsent(s.within(), c.key, entry(t, "v", time.Minute))); got != "conflict" {
			t.Errorf("%s: put if absent: got %s, want conflict", foreign.Sentence, got)
		}
		if after := programtest.Content(t, s.client, c.physical); after != before {
			t.Errorf("%s: the key became %s, was %s", foreign.Sentence, after, before)
		}
	}
}

// cacheContract is all of the port's contract, a hundred writers at once among it.
func cacheContract(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	cachetest.Run(t, cachetest.Harness{
		New: func(t *testing.T) contract.CachePort { return s.cacheAt(s.server.Addr) },
		Pass: func(t *testing.T, d time.Duration) {
			for end := s.nowMicros() + d.Microseconds() + 1000; s.nowMicros() <= end; {
				time.Sleep(time.Millisecond)
			}
		},
	})
}
