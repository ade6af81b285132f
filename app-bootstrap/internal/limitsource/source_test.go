package limitsource_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/limitsource"
)

func TestOf_asksOnceForTheTTL(t *testing.T) {
	r := newRig(t)
	one, two := r.replica(), r.replica()
	for range 3 {
		r.wantTenant(one, 600)
		r.wantTenant(two, 600)
		r.pass(ttl / 4)
	}
	if got := r.questions(); got != 1 {
		t.Errorf("the source was asked %d times, want once for both replicas", got)
	}
}

func TestOf_aRefreshKeepsNobodyWaiting(t *testing.T) {
	r := newRig(t)
	s := r.replica()
	r.wantTenant(s, 600)
	release := r.holds(`{"tenant": 700}`)
	r.pass(ttl)
	for range 10 { // while the source is being asked
		r.wantTenant(s, 600)
	}
	release()
	r.eventually(s, 700)
	if got := r.questions(); got != 2 {
		t.Errorf("the source was asked %d times, want 2", got)
	}
}

func TestOf_oneOfManyReplicasAsks(t *testing.T) {
	r := newRig(t)
	var replicas []*limitsource.Source
	for range 20 {
		replicas = append(replicas, r.replica())
	}
	release := r.holds(`{"tenant": 600}`)
	var all sync.WaitGroup
	for _, s := range replicas {
		for range 5 {
			all.Go(func() { s.Of(t.Context(), "acme") })
		}
	}
	r.awaitCount(limitsource.Waived, int64(len(replicas)-1)) // the others have been told that one asks
	release()
	all.Wait()
	r.pass(time.Second)
	for _, s := range replicas {
		r.eventually(s, 600)
	}
	if got := r.questions(); got != 1 {
		t.Errorf("the source was asked %d times, want once", got)
	}

	r.pass(ttl)
	r.says(`{"tenant": 700}`)
	for _, s := range replicas {
		all.Go(func() { s.Of(t.Context(), "acme") })
	}
	all.Wait()
	r.awaitCached(`{"tenant":700}`)
	r.pass(time.Second)
	for _, s := range replicas {
		r.eventually(s, 700)
	}
	if got := r.questions(); got != 2 {
		t.Errorf("after the TTL the source was asked %d times in all, want 2", got)
	}
}

// The limits stay for as long as anybody asks, whatever becomes of the source, and
// change when it is back.
func TestOf_whatWasLearntStaysWhileTheSourceIsDead(t *testing.T) {
	r := newRig(t)
	s := r.replica()
	r.wantTenant(s, 600)
	r.fails()
	for range 72 {
		r.pass(time.Hour)
		asked := r.questions()
		for r.wantTenant(s, 600); r.questions() == asked; r.wantTenant(s, 600) {
			time.Sleep(10 * time.Millisecond)
			r.pass(time.Second)
		}
	}
	r.wantTenant(r.replica(), 600) // one that has just started knows it from the cache
	r.says(`{"tenant": 700}`)
	r.pass(claim)
	r.eventually(s, 700)
}

func TestOf_aDeadSourceIsNotAskedAgainAtOnce(t *testing.T) {
	r := newRig(t)
	r.fails()
	s := r.replica()
	for range 50 {
		r.wantTenant(s, -1)
	}
	if got := r.questions(); got != 1 {
		t.Errorf("the source was asked %d times, want once", got)
	}
	r.pass(claim)
	r.says(`{"tenant": 600}`)
	r.eventually(s, 600)
}

func TestOf_aDeadCacheCostsNoRequestAndNoFlood(t *testing.T) {
	r := newRig(t)
	c := r.config()
	c.Cache = deadCache{}
	s := r.open(c)
	for range 50 {
		r.wantTenant(s, 600)
	}
	if got := r.questions(); got != 1 {
		t.Errorf("the source was asked %d times, want once", got)
	}
	r.fails()
	for range 10 { // both are dead: what was learnt stays
		r.pass(time.Hour)
		r.wantTenant(s, 600)
	}
	r.says(`{"tenant": 700}`)
	r.pass(10 * time.Second)
	r.eventually(s, 700)
}

func TestOf_aSlowSourceCostsAFirstRequestItsTimeoutAlone(t *testing.T) {
	r := newRig(t)
	r.holds(`{"tenant": 600}`)
	c := r.config()
	c.Timeout = 20 * time.Millisecond
	s := r.open(c)
	for range 50 { // the second to the last wait for nothing
		r.wantTenant(s, -1)
	}
	if got := r.questions(); got != 1 {
		t.Errorf("the source was asked %d times, want once", got)
	}
}

func TestOf_aCallerMayLeave(t *testing.T) {
	r := newRig(t)
	r.holds(`{"tenant": 600}`)
	s := r.replica()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := tenantLimit(s.Of(ctx, "acme")); got != -1 {
		t.Errorf("got the limit %d, want none", got)
	}
}

func TestOf_questionsAreBounded(t *testing.T) {
	r := newRig(t)
	release := r.holds(`{"tenant": 600}`)
	s := r.replica()
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() { s.Of(t.Context(), strings.Repeat("x", i+1)) })
	}
	r.awaitCount(limitsource.Waived, 200-16)
	if got := r.questions(); got > 16 {
		t.Errorf("%d questions were under way at once, want 16 at most", got)
	}
	release()
	all.Wait()
}

// More tenants than places at once: none is claimed that nobody asks for.
func TestOf_aCrowdOfNewTenantsIsLearntAsFastAsTheSourceAnswers(t *testing.T) {
	r := newRig(t)
	release := r.holds(`{"tenant": 600}`)
	s := r.replica()
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() { s.Of(t.Context(), fmt.Sprint("tenant ", i)) })
	}
	r.awaitCount(limitsource.Waived, 200-16)
	release()
	all.Wait()
	for i := range 200 {
		r.pass(time.Second / 10) // what nobody asked for is asked for again soon
		name := fmt.Sprint("tenant ", i)
		s.Of(t.Context(), name)
		for end := time.Now().Add(30 * time.Second); tenantLimit(s.Of(t.Context(), name)) != 600; {
			if time.Now().After(end) {
				t.Fatalf("%s was never learnt", name)
			}
			time.Sleep(time.Millisecond)
		}
	}
	if now := r.clock(); now > 25*time.Second {
		t.Errorf("it took %v by the clock", now)
	}
}

func TestOf_aValueThatNobodyWroteIsAskedForAnew(t *testing.T) {
	r := newRig(t)
	one := r.replica()
	r.wantTenant(one, 600)
	r.spoil("acme", "no document")
	r.wantTenant(r.replica(), 600)
	if got := r.questions(); got != 2 {
		t.Errorf("the source was asked %d times, want 2", got)
	}
	r.wantTenant(r.replica(), 600)
	if got := r.questions(); got != 2 {
		t.Errorf("the source was asked %d times, want the value mended", got)
	}
}

func TestDocument_survivesTheCache(t *testing.T) {
	r := newRig(t)
	r.says(`{"tenant": 1, "key": 0, "users": {"ann": 2, "<b>&": 3}, "keys": {"k:1": 4}, "more": [1, {"x": null}]}`)
	first, _ := json.Marshal(r.replica().Of(t.Context(), "acme"))
	second, _ := json.Marshal(r.replica().Of(t.Context(), "acme"))
	want := `{"tenant":1,"key":0,"users":{"\u003cb\u003e\u0026":3,"ann":2},"keys":{"k:1":4}}`
	if string(first) != want || string(second) != want {
		t.Errorf("got %s\nthen %s\nwant %s", first, second, want)
	}
}

func TestClose_endsQuestionsAndAnswersWhatIsKnown(t *testing.T) {
	r := newRig(t)
	s := r.replica()
	r.wantTenant(s, 600)
	r.holds(`{"tenant": 600}`)
	r.pass(ttl)
	r.wantTenant(s, 600) // begins a question
	s.Close()
	r.pass(ttl)
	r.wantTenant(s, 600)
}

func TestNew_refusesWhatCannotWork(t *testing.T) {
	r := newRig(t)
	for sentence, spoil := range map[string]func(*limitsource.Config){
		"no URL":              func(c *limitsource.Config) { c.URL = nil },
		"no cache":            func(c *limitsource.Config) { c.Cache = nil },
		"no clock":            func(c *limitsource.Config) { c.Clock = nil },
		"no timeout":          func(c *limitsource.Config) { c.Timeout = 0 },
		"no TTL":              func(c *limitsource.Config) { c.TTL = 0 },
		"a TTL of a fraction": func(c *limitsource.Config) { c.TTL = 1500 * time.Microsecond },
		"a TTL beyond a year": func(c *limitsource.Config) { c.TTL = 366 * 24 * time.Hour },
	} {
		c := r.config()
		spoil(&c)
		if s, err := limitsource.New(c); err == nil {
			s.Close()
			t.Errorf("%s: got no error", sentence)
		}
	}
}
