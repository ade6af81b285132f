package limitsource_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/limitsource"
	"github.com/edgelimit/edgelimit/shared-contract/cache"
	"github.com/edgelimit/edgelimit/shared-contract/cache/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ttl   = time.Minute
	claim = 30 * time.Second // how long one lasts: three of the rig's timeouts
)

// rig is a service that keeps limits, a cache that replicas share, and one clock.
type rig struct {
	*testing.T
	now    atomic.Int64 // of the clock, in nanoseconds
	cache  *memory.Cache
	server *httptest.Server

	mu     sync.Mutex
	answer http.HandlerFunc
	asked  []*http.Request

	events sync.Map // limitsource.Event to *atomic.Int64
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t}
	var err error
	r.cache, err = memory.New(memory.Config{MaxEntries: 10_000, MaxBytes: 64 << 20, Clock: r.clock})
	if err != nil {
		t.Fatal(err)
	}
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		r.asked = append(r.asked, q)
		answer := r.answer
		r.mu.Unlock()
		answer(w, q)
	}))
	t.Cleanup(r.server.Close)
	r.says(`{"tenant": 600, "user": 60, "key": 30}`)
	return r
}

func (r *rig) clock() time.Duration { return time.Duration(r.now.Load()) }

func (r *rig) pass(d time.Duration) { r.now.Add(int64(d)) }

// does sets what the service does from now on.
func (r *rig) does(answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *rig) says(document string) {
	r.does(func(w http.ResponseWriter, _ *http.Request) { write(w, document) })
}

// holds has the service say document once it is released, or the test ends.
func (r *rig) holds(document string) (release func()) {
	held := make(chan struct{})
	release = sync.OnceFunc(func() { close(held) })
	r.Cleanup(release)
	r.does(func(w http.ResponseWriter, _ *http.Request) {
		<-held
		write(w, document)
	})
	return release
}

func write(w http.ResponseWriter, document string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = fmt.Fprint(w, document)
}

func (r *rig) fails() {
	r.does(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
}

// questions are how many times the service was asked.
func (r *rig) questions() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.asked)
}

func (r *rig) count(e limitsource.Event) int64 {
	n, _ := r.events.LoadOrStore(e, new(atomic.Int64))
	return n.(*atomic.Int64).Load()
}

func (r *rig) config() limitsource.Config {
	at, err := url.Parse(r.server.URL + "/limits?env=test")
	if err != nil {
		r.Fatal(err)
	}
	return limitsource.Config{
		URL: at, TTL: ttl, Timeout: 10 * time.Second, Cache: r.cache, Clock: r.clock,
		Observer: func(e limitsource.Event) {
			n, _ := r.events.LoadOrStore(e, new(atomic.Int64))
			n.(*atomic.Int64).Add(1)
		},
	}
}

// replica is a process of its own over the shared cache.
func (r *rig) replica() *limitsource.Source { return r.open(r.config()) }

func (r *rig) open(c limitsource.Config) *limitsource.Source {
	r.Helper()
	s, err := limitsource.New(c)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(s.Close)
	return s
}

// wantTenant wants s to say that acme's limit is want; below 0, nothing.
func (r *rig) wantTenant(s *limitsource.Source, want int) {
	r.Helper()
	if got := tenantLimit(s.Of(r.Context(), "acme")); got != want {
		r.Errorf("got the limit %d, want %d", got, want)
	}
}

// eventually asks until s says that acme's limit is want, as what is renewed behind a
// request is there for a later one. The clock runs meanwhile.
func (r *rig) eventually(s *limitsource.Source, want int) {
	r.Helper()
	for end := time.Now().Add(30 * time.Second); tenantLimit(s.Of(r.Context(), "acme")) != want; {
		if time.Now().After(end) {
			r.Fatalf("the limit never became %d", want)
		}
		time.Sleep(time.Millisecond)
		r.pass(time.Millisecond)
	}
}

// await waits until n has become want.
func (r *rig) await(want int64, n func() int64) {
	r.Helper()
	for end := time.Now().Add(30 * time.Second); n() < want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			r.Fatalf("got %d at last, want %d", n(), want)
		}
	}
}

func (r *rig) awaitCount(e limitsource.Event, want int64) {
	r.Helper()
	r.await(want, func() int64 { return r.count(e) })
}

// origin begins the names of this source's tenants in the cache.
func (r *rig) origin() string {
	sum := sha256.Sum256([]byte(r.config().URL.String()))
	return hex.EncodeToString(sum[:8]) + ":"
}

// awaitCached waits until the cache holds document of acme.
func (r *rig) awaitCached(document string) {
	r.Helper()
	k, err := cache.NewKey("limits", r.origin()+"acme")
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
	defer cancel()
	for {
		if cache.MatchReading(r.cache.Get(ctx, k), func(h cache.Hit) bool { return string(h.Value) == document },
			func(cache.Miss) bool { return false }, func(cache.Unavailable) bool { return ctx.Err() != nil }) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func tenantLimit(d limitsource.Document) int {
	if d.Tenant == nil {
		return -1
	}
	return int(*d.Tenant)
}

// readOnly serves what it holds, and refuses every write once it is shut.
type readOnly struct {
	cache.CachePort
	shut *atomic.Bool
}

func (c readOnly) refuses() (cache.Writing, bool) {
	return cache.Unavailable{Cause: cache.CauseServer}.Writing(), c.shut.Load()
}

func (c readOnly) PutIfAbsent(ctx context.Context, k cache.Key, e cache.Entry) cache.Writing {
	if w, refused := c.refuses(); refused {
		return w
	}
	return c.CachePort.PutIfAbsent(ctx, k, e)
}

func (c readOnly) CompareAndReplace(ctx context.Context, k cache.Key, observed cache.Token, e cache.Entry) cache.Writing {
	if w, refused := c.refuses(); refused {
		return w
	}
	return c.CachePort.CompareAndReplace(ctx, k, observed, e)
}

// deadCache serves nothing.
type deadCache struct{}

func (deadCache) Get(context.Context, cache.Key) cache.Reading { return cache.Miss{}.Reading() }
func (deadCache) Put(context.Context, cache.Key, cache.Entry) cache.Writing {
	return cache.Unavailable{}.Writing()
}
func (deadCache) PutIfAbsent(context.Context, cache.Key, cache.Entry) cache.Writing {
	return cache.Unavailable{}.Writing()
}
func (deadCache) CompareAndReplace(context.Context, cache.Key, cache.Token, cache.Entry) cache.Writing {
	return cache.Unavailable{}.Writing()
}
func (deadCache) Delete(context.Context, cache.Key) cache.Writing {
	return cache.Unavailable{}.Writing()
}
