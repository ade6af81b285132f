package limitsource_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/limitsource"
	"github.com/edgelimit/edgelimit/shared-contract/cache"
)

// A cache that has become read-only must not freeze what it holds, nor bring it back.
func TestOf_aCacheThatRefusesWritesFreezesNoLimit(t *testing.T) {
	r := newRig(t)
	c := r.config()
	shut := new(atomic.Bool)
	c.Cache = readOnly{r.cache, shut}
	s := r.open(c)
	r.wantTenant(s, 600)
	shut.Store(true)
	r.says(`{"tenant": 700}`)
	r.pass(ttl)
	r.eventually(s, 700)
	r.fails()
	r.pass(ttl)
	s.Of(t.Context(), "acme") // finds what is stale and asks in vain
	r.awaitCount(limitsource.Failed, 1)
	r.wantTenant(s, 700)
}

// A document that is stale is later all the same than what an idle replica knows from
// the cache.
func TestOf_aReplicaThatWasIdleTakesWhatOthersLearnt(t *testing.T) {
	r := newRig(t)
	idle := r.replica()
	r.wantTenant(idle, 600)
	r.spoil("acme", `{"tenant":700}`)
	r.fails()
	r.pass(25 * time.Hour) // of the 48 h that it lasts: it is stale
	r.eventually(idle, 700)
}

func TestOf_anAnswerThatTakesItsTimeIsStored(t *testing.T) {
	r := newRig(t)
	r.does(func(w http.ResponseWriter, _ *http.Request) {
		r.pass(8 * time.Second)
		write(w, `{"tenant":600}`)
	})
	r.wantTenant(r.replica(), 600)
	r.awaitCached(`{"tenant":600}`)
	r.wantTenant(r.replica(), 600)
	if got := r.questions(); got != 1 {
		t.Errorf("the source was asked %d times, want once for both replicas", got)
	}
}

func TestOf_aRenewalThatTakesItsTimeIsNotBegunAnew(t *testing.T) {
	r := newRig(t)
	s := r.replica()
	r.wantTenant(s, 600)
	release := r.holds(`{"tenant":700}`)
	r.pass(ttl)
	r.wantTenant(s, 600) // begins to renew it
	r.await(2, func() int64 { return int64(r.questions()) })
	r.pass(8 * time.Second)
	fresh := r.replica() // the others find it claimed
	r.wantTenant(fresh, 600)
	release()
	r.awaitCached(`{"tenant":700}`)
	r.pass(time.Second)
	r.eventually(s, 700)
	if got := r.questions(); got != 2 {
		t.Errorf("the source was asked %d times, want 2", got)
	}
}

// claimsAlone takes what is as empty, or as old, as a claim, and no new document.
type claimsAlone struct {
	cache.CachePort
	old string
}

func (c claimsAlone) CompareAndReplace(ctx context.Context, k cache.Key, observed cache.Token, e cache.Entry) cache.Writing {
	if string(e.Value()) != c.old {
		return cache.Unavailable{Cause: cache.CauseServer}.Writing()
	}
	return c.CachePort.CompareAndReplace(ctx, k, observed, e)
}

func TestOf_whatTheCacheDoesNotTakeLastsForTheTTL(t *testing.T) {
	const old = `{"tenant":600,"user":60,"key":30}`
	for sentence, row := range map[string]struct {
		ttl   time.Duration
		known bool
	}{
		"of a tenant who is new":                  {ttl, false},
		"of one whose document is renewed":        {ttl, true},
		"for as long as a claim, if that is more": {time.Second, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRig(t)
			c := r.config()
			c.TTL = row.ttl
			if row.known {
				r.wantTenant(r.open(c), 600)
				r.pass(row.ttl)
			}
			c.Cache = claimsAlone{r.cache, old}
			s := r.open(c)
			r.says(`{"tenant": 700}`)
			r.eventually(s, 700)
			asked := r.questions()
			r.fails()
			for range 20 {
				r.pass(max(row.ttl, claim) / 25)
				for range 3 { // what one begins, another would find
					r.wantTenant(s, 700)
					time.Sleep(time.Millisecond)
				}
			}
			if got := r.questions(); got != asked {
				t.Errorf("the source was asked %d times more, want never", got-asked)
			}
		})
	}
}
