package limitsource_test

import (
	"context"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/limitsource"
	"github.com/edgelimit/edgelimit/shared-contract/cache"
)

// slowCache takes each call's whole time before it is looked into.
type slowCache struct{ cache.CachePort }

func (c slowCache) Get(ctx context.Context, k cache.Key) cache.Reading {
	<-ctx.Done()
	return c.CachePort.Get(ctx, k)
}

// The look alone takes the timeout; the question begins behind the request.
func TestOf_aSlowCacheAndASlowSourceCostTheTimeoutOnce(t *testing.T) {
	r := newRig(t)
	release := r.holds(`{"tenant": 600}`)
	c := r.config()
	c.Cache, c.Timeout = slowCache{r.cache}, 2*time.Second
	s := r.open(c)
	r.wantTenant(s, -1)
	if got := r.count(limitsource.Failed); got != 0 {
		t.Errorf("%d questions ended before the request, want it to wait for the timeout alone", got)
	}
	r.wantTenant(s, -1) // a second request does not wait
	release()
	r.eventually(s, 600)
	if got := r.questions(); got != 1 {
		t.Errorf("the source was asked %d times, want once", got)
	}
}

// silent is a source that accepts, says what it has to say, and nothing more.
func silent(t *testing.T, says string) string {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		var held []net.Conn
		for {
			connection, err := socket.Accept()
			if err != nil {
				break
			}
			held = append(held, connection)
			_, _ = connection.Write([]byte(says))
		}
		for _, connection := range held {
			_ = connection.Close()
		}
	})
	t.Cleanup(func() {
		_ = socket.Close()
		all.Wait()
	})
	return socket.Addr().String()
}

func TestOf_aSourceThatStallsCostsTheTimeoutAndNoGoroutine(t *testing.T) {
	for sentence, row := range map[string]struct{ scheme, says string }{
		"it accepts and is silent":        {"http", ""},
		"it does not end its headers":     {"http", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"},
		"it does not begin its body":      {"http", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n"},
		"it does not end its body":        {"http", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"tenant\": 5"},
		"it does not end another's body":  {"http", "HTTP/1.1 503 Away\r\nContent-Length: 13\r\n\r\naway"},
		"it does not answer to handshake": {"https", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			at := &url.URL{Scheme: row.scheme, Host: silent(t, row.says)}
			r := newRig(t)
			before := goleak.IgnoreCurrent()
			c := r.config()
			c.URL, c.Timeout = at, 100*time.Millisecond
			s := r.open(c)
			began := time.Now()
			r.wantTenant(s, -1)
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("the request waited for %v, want the timeout of %v", took, c.Timeout)
			}
			r.awaitCount(limitsource.Failed, 1) // the question ends without Close
			s.Close()
			goleak.VerifyNone(t, before)
		})
	}
}

// lingering is slow to notice that its caller has left.
type lingering struct {
	cache.CachePort
	entered *atomic.Int64
	closed  chan struct{}
	early   *atomic.Bool // closed while a call was under way
}

func (c lingering) CompareAndReplace(ctx context.Context, _ cache.Key, _ cache.Token, _ cache.Entry) cache.Writing {
	c.entered.Add(1)
	<-ctx.Done()
	select {
	case <-c.closed:
		c.early.Store(true)
	case <-time.After(100 * time.Millisecond):
	}
	return cache.Unavailable{}.Writing()
}

func TestClose_waitsForWhatIsUnderWay(t *testing.T) {
	r := newRig(t)
	r.wantTenant(r.replica(), 600)
	c := r.config()
	held := lingering{r.cache, new(atomic.Int64), make(chan struct{}), new(atomic.Bool)}
	c.Cache, c.Timeout = held, time.Minute
	s := r.open(c)
	r.pass(ttl)
	r.wantTenant(s, 600) // begins to renew it
	r.await(1, held.entered.Load)
	s.Close()
	close(held.closed)
	if got := r.count(limitsource.Failed); got != 1 || held.early.Load() {
		t.Errorf("%d questions had ended when Close returned, want 1", got)
	}
}
