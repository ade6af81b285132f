package e2e_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

func TestShared_twoProcessesAdmitExactlyTheLimit(t *testing.T) {
	t.Parallel()
	const limit, clients, each = 100, 64, 4
	server := redistest.Start(t)
	s := limiting(t, server.Addr(), "", fixedWindow("fixed", limit), slidingCounter("sliding", limit), tokenBucket("bucket", limit)).
		with("app.rate-limit.routes", []route{
			{"path": "/sliding", "policy": "sliding"}, {"path": "/bucket", "policy": "bucket"},
		})
	both := []*process{serve(t, s), serve(t, s)}
	t.Logf("two processes: %d and %d", both[0].command.Process.Pid, both[1].command.Process.Pid)
	for _, path := range []string{"/fixed", "/sliding", "/bucket"} {
		var allowed, denied, other atomic.Int64
		var by [2]atomic.Int64
		var load sync.WaitGroup
		begin := make(chan struct{})
		for i := range clients {
			load.Go(func() {
				<-begin
				for range each {
					switch got, err := try(http.MethodGet, "http://"+both[i%2].listen+authorizePath+path, ""); {
					case err != nil:
						t.Errorf("a client was cut: %v", err)
					case got.status == http.StatusOK:
						allowed.Add(1)
						by[i%2].Add(1)
					case got.status == http.StatusTooManyRequests:
						denied.Add(1)
					default:
						other.Add(1)
					}
				}
			})
		}
		close(begin)
		load.Wait()
		t.Logf("%s: %d by one, %d by the other", path, by[0].Load(), by[1].Load())
		if allowed.Load() != limit || denied.Load() != clients*each-limit || other.Load() != 0 {
			t.Errorf("%s: got %d allowed, %d denied, %d other, want exactly %d, %d, 0",
				path, allowed.Load(), denied.Load(), other.Load(), limit, clients*each-limit)
		}
	}
}
