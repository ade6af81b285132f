package limitsource

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/edgelimit/edgelimit/shared-contract/cache"
)

// Config is what a Source is made of. Token, Observer and Logger may be left out.
type Config struct {
	URL   *url.URL // asked with the query ?tenant=ID beside what it has
	Token string   // sent as a bearer token; "" is none

	TTL     time.Duration // whole milliseconds; how long what was learnt is not asked for again
	Timeout time.Duration // of a request's whole wait, and of each step behind it: a look into the cache, a claim in it, a question, a store

	Cache cache.CachePort
	Clock func() time.Duration // how long something has been running; it never goes back

	Observer func(Event) // hears what becomes of questions
	Logger   *slog.Logger
}

// Event is what became of a question, as a metric's label.
type Event string

// The events.
const (
	Fetched Event = "fetched" // the source answered
	Failed  Event = "failed"  // it did not, or not in a way that can be used
	Waived  Event = "waived"  // another one is asking, or too many are under way
)

const (
	maxFetches = 16                    // under way at once
	maxFirst   = 64                    // first loads of tenants that are under way at once
	staleFor   = 24 * time.Hour        // how long after its TTL a document stays in the cache
	memoFor    = time.Second           // how long this process does not look into the cache again
	retryAfter = 5 * time.Second       // how long a failed question is not asked again
	lookEvery  = 10 * time.Millisecond // while another process asks
	quietFor   = 30 * time.Second      // how long the log says no more of failures after one
)

// Source says what limits tenants have. It is safe for concurrent use. Make one
// with New, and Close it.
type Source struct {
	config Config
	fetch  fetcher
	origin string // begins the names in the cache: of another source there are others

	context context.Context // ends with Close
	cancel  context.CancelFunc
	places  chan struct{} // one for each question under way
	firsts  chan struct{} // one for each load of a tenant that is not known
	tasks   sync.WaitGroup
	mu      sync.Mutex // held to begin a task or to close
	noticed time.Duration

	memos *memos
	loads singleflight.Group
}

// New makes a Source. It asks nobody before it is asked.
func New(c Config) (*Source, error) {
	if c.URL == nil || c.Cache == nil || c.Clock == nil {
		return nil, errors.New("limitsource: URL, Cache and Clock are needed")
	}
	if c.TTL < time.Millisecond || c.TTL > cache.MaxTTL-staleFor || c.TTL%time.Millisecond != 0 || c.Timeout <= 0 {
		return nil, fmt.Errorf("limitsource: the TTL must be whole milliseconds and at most %v, the timeout above 0", cache.MaxTTL-staleFor)
	}
	if c.Observer == nil {
		c.Observer = func(Event) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	memos, err := newMemos()
	if err != nil {
		return nil, fmt.Errorf("limitsource: %w", err)
	}
	s := &Source{
		config: c, fetch: newFetcher(c.URL, c.Token, c.Timeout), origin: originOf(c.URL),
		places: make(chan struct{}, maxFetches), firsts: make(chan struct{}, maxFirst), memos: memos, noticed: -quietFor,
	}
	s.context, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// originOf tells one source from another, in few characters.
func originOf(at *url.URL) string {
	sum := sha256.Sum256([]byte(at.String()))
	return hex.EncodeToString(sum[:8]) + ":"
}

// Close ends what is under way and waits for it. A Source that is closed answers
// what it knows.
func (s *Source) Close() {
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	s.tasks.Wait()
	s.fetch.client.CloseIdleConnections()
}

// begin tells whether a task may begin, which then ends with s.tasks.Done.
func (s *Source) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.context.Err() != nil {
		return false
	}
	s.tasks.Add(1)
	return true
}

// Of is what is known of a tenant. Only who asks first about one waits, for ctx and
// the Timeout at most; what is learnt afterwards is there for later ones. They are
// answered from memory while that is renewed. If nothing can be learnt, or too many
// ask first at once, the Document is zero.
func (s *Source) Of(ctx context.Context, tenant string) Document {
	known, ok := s.memos.get(tenant)
	if ok && s.config.Clock() < known.until {
		return known.document
	}
	if ok {
		s.keep(tenant, memoFor) // so that one request of many begins a load
		s.loads.DoChan(tenant, func() (any, error) { return s.load(tenant), nil })
		return known.document
	}
	loaded := s.loads.DoChan(tenant, func() (any, error) { return s.loadFirst(tenant), nil })
	end := time.NewTimer(s.config.Timeout)
	defer end.Stop()
	select {
	case result := <-loaded:
		return result.Val.(Document)
	case <-end.C:
		return s.keep(tenant, memoFor) // so that no other waits for the same
	case <-ctx.Done():
		return Document{}
	}
}

// remember keeps d for a while, and answers it.
func (s *Source) remember(tenant string, d Document, lasts time.Duration) Document {
	s.memos.set(tenant, memo{document: d, until: s.config.Clock() + lasts})
	return d
}

// own is remember for what the cache would not take.
func (s *Source) own(tenant string, d Document, lasts time.Duration) Document {
	s.memos.set(tenant, memo{document: d, own: true, until: s.config.Clock() + lasts})
	return d
}

// keep makes what is known, be it nothing, last for a while longer.
func (s *Source) keep(tenant string, lasts time.Duration) Document {
	return s.memos.keep(tenant, s.config.Clock()+lasts)
}

// failed hears of a question without a usable answer. An outage of the source is one
// line in the log now and then, not one a question.
func (s *Source) failed(err error) {
	s.config.Observer(Failed)
	now := s.config.Clock()
	s.mu.Lock()
	due := now-s.noticed >= quietFor && s.context.Err() == nil
	if due {
		s.noticed = now
	}
	s.mu.Unlock()
	if due {
		s.config.Logger.Warn("limits source", "problem", err.Error())
	}
}
