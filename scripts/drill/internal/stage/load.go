package stage

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/edgelimit/edgelimit/scripts/drill/internal/tally"
)

// workers is how many requests one replica may be asked at once. When all are
// under way the load falls behind, and catches up.
const workers = 32

// users is how many users the one tenant of the load has.
const users = 10

// Load is a steady stream of requests, each replica getting the same part.
type Load struct {
	begun   time.Time
	client  http.Client
	stop    context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	samples []tally.Sample
}

// NewLoad sends so many requests a second, over all replicas, until Stop.
func NewLoad(urls []string, perSecond int) *Load {
	ctx, stop := context.WithCancel(context.Background())
	l := &Load{begun: time.Now(), stop: stop}
	l.client = http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: workers}}
	every := time.Second * time.Duration(len(urls)) / time.Duration(perSecond)
	for replica, url := range urls {
		due := make(chan int)
		l.running.Go(func() { pace(ctx, every, due) })
		for range workers {
			l.running.Go(func() {
				for n := range due {
					l.keep(l.ask(replica, url, n))
				}
			})
		}
	}
	return l
}

// pace sends the number of each request when it is due, until ctx ends.
func pace(ctx context.Context, every time.Duration, due chan<- int) {
	defer close(due)
	begun := time.Now()
	for n := 0; ; n++ {
		select {
		case <-time.After(time.Until(begun.Add(time.Duration(n) * every))):
		case <-ctx.Done():
			return
		}
		select {
		case due <- n:
		case <-ctx.Done():
			return
		}
	}
}

// ask sends one request and waits for the whole answer.
func (l *Load) ask(replica int, url string, n int) tally.Sample {
	s := tally.Sample{Replica: replica, Begun: l.Now()}
	s.Result, s.Local = l.answer(url, n)
	s.Ended = l.Now()
	return s
}

func (l *Load) answer(url string, n int) (result tally.Result, local bool) {
	req, err := http.NewRequest(http.MethodGet, url+"/", nil)
	if err != nil {
		return tally.Failed, false
	}
	req.Header.Set("X-Tenant-Id", "drill")
	req.Header.Set("X-User-Id", fmt.Sprintf("user-%d", n%users))
	res, err := l.client.Do(req)
	if err != nil {
		return tally.Failed, false
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return tally.Failed, false
	}
	local = res.Header.Get("X-RateLimit-Source") == "local"
	switch res.StatusCode {
	case http.StatusOK:
		return tally.Admitted, local
	case http.StatusTooManyRequests:
		return tally.Denied, local
	case http.StatusServiceUnavailable:
		return tally.Refused, local
	default:
		return tally.Failed, local
	}
}

func (l *Load) keep(s tally.Sample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.samples = append(l.samples, s)
}

// Now is the time since the load began.
func (l *Load) Now() time.Duration { return time.Since(l.begun) }

// Samples are the requests answered so far.
func (l *Load) Samples() []tally.Sample {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.samples)
}

// Stop sends no more, waits for the answers to what was sent, and returns all.
func (l *Load) Stop() []tally.Sample {
	l.stop()
	l.running.Wait()
	l.client.CloseIdleConnections()
	return l.Samples()
}
