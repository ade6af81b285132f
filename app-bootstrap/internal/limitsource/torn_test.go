package limitsource_test

import (
	"encoding/json"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/limitsource"
)

// Whoever asks while limits change gets those of before or those of after, and never
// some of both.
func TestOf_aChangeIsSeenWholeOrNotAtAll(t *testing.T) {
	r := newRig(t)
	low, high := `{"tenant": 10, "user": 1, "key": 2}`, `{"tenant": 1000, "user": 100, "key": 200}`
	r.says(low)
	s := r.replica()
	r.wantTenant(s, 10)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	defer readers.Wait()
	defer close(stop)
	for range 8 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				runtime.Gosched()
				if d := s.Of(t.Context(), "acme"); d.Tenant == nil || !isWhole(d, 10, 1, 2) && !isWhole(d, 1000, 100, 200) {
					said, _ := json.Marshal(d)
					t.Errorf("got %s", said)
					return
				}
			}
		})
	}
	for n := range 30 {
		document, want := low, 10
		if n%2 == 0 {
			document, want = high, 1000
		}
		r.says(document)
		r.pass(ttl + time.Second)
		// What was renewed may be looked for a second later only.
		r.await(1, func() int64 {
			r.pass(100 * time.Millisecond)
			if tenantLimit(s.Of(t.Context(), "acme")) == want {
				return 1
			}
			return 0
		})
	}
}

func isWhole(d limitsource.Document, tenant, user, key int) bool {
	return int(*d.Tenant) == tenant && d.User != nil && int(*d.User) == user && d.Key != nil && int(*d.Key) == key
}
