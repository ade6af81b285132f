package slidinglogtest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

const (
	rushers = 200 // calls at once
	users   = 10
	rounds  = 5 // calls of each rusher
)

// rush is many calls at once, of which an exact number is allowed.
type rush struct {
	sentence   string
	outerLimit int
	innerLimit int // of each of the users; 0 for calls of one layer
	want       int64
}

var rushes = []rush{
	{"of 200 first calls at once of one key with limit 1, one is allowed", 1, 0, 1},
	{"calls at once of ten users are allowed up to the tenant's limit", 120, 15, 120},
	{"calls at once of ten users are allowed up to the sum of theirs", 500, 15, 150},
}

func (r rush) hold(t *testing.T, h Harness) {
	l, keys := h.New(t, minute), newKeyring()
	l.SetNow(startMicros)
	var (
		allowed atomic.Int64
		barrier = make(chan struct{})
		wg      sync.WaitGroup
	)
	for i := range rushers {
		s := step{outer: tenant, outerLimit: r.outerLimit}
		if r.innerLimit > 0 {
			s.inner, s.innerLimit = fmt.Sprintf("%s:user:%d", tenant, i%users), r.innerLimit
		}
		wg.Go(func() {
			<-barrier
			for range rounds {
				got, _ := byContext(t, l, keys, s)
				if got.err != nil {
					t.Error(got.err)
				}
				if got.verdict.Allowed {
					allowed.Add(1)
				}
			}
		})
	}
	close(barrier)
	wg.Wait()
	if got := allowed.Load(); got != r.want {
		t.Errorf("%d of %d calls were allowed, want %d", got, rushers*rounds, r.want)
	}
}
