//go:build soak

package e2e_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// heard is what clients were told.
type heard struct{ allowed, denied, failed, refused, gone int64 }

func (h heard) all() int64 { return h.allowed + h.denied + h.failed + h.refused + h.gone }

func (h heard) plus(o heard) heard {
	return heard{h.allowed + o.allowed, h.denied + o.denied, h.failed + o.failed, h.refused + o.refused, h.gone + o.gone}
}

func (h heard) minus(o heard) heard {
	return h.plus(heard{-o.allowed, -o.denied, -o.failed, -o.refused, -o.gone})
}

// verdicts are the answers to requests that one policy counts.
type verdicts struct {
	allowed int64 // and passed on, or said so by the decision endpoints
	denied  int64 // by the edge port
	after   int64 // allowed by the edge port and denied by the inbound-web limiter
	failed  int64 // 503, or refused with that policy's name
	gone    int64 // the client left
}

// book is what the clients of one gateway heard.
type book struct {
	mu       sync.Mutex
	policies map[string]*verdicts
	heard    heard
	passed   int64 // 200 through the gateway, leavers apart
	local    int64 // answers of the local fallback, leavers apart
	hot      int64 // admitted of the one hot subject of the decision API
	slowest  time.Duration
	late     int64          // answers that took longer than the budget
	wrong    map[string]int // what no client may hear
}

func newBook() *book { return &book{policies: map[string]*verdicts{}, wrong: map[string]int{}} }

func (b *book) note(a call, got reply, err error, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := b.policies[a.policy]
	if v == nil {
		v = &verdicts{}
		b.policies[a.policy] = v
	}
	b.slowest = max(b.slowest, took)
	if took > answerBudget {
		b.late++
	}
	switch {
	case err != nil && a.leaves > 0:
		b.heard.gone++
		v.gone++
	case err != nil:
		b.wrong[fmt.Sprintf("%s %s: no answer", a.kind, a.policy)]++
		b.wrong[fmt.Sprintf("an error: %v", err)]++
	case a.want != 0:
		b.heard.refused++
		v.failed++
		b.must(got.status == a.want, a, got)
	default:
		b.answered(a, v, got)
	}
}

func (b *book) must(right bool, a call, got reply) {
	if !right {
		b.wrong[fmt.Sprintf("%s %s: %d, Retry-After %q, %.200s", a.kind, a.policy, got.status, got.header.Values("Retry-After"), got.body)]++
	}
}

func (b *book) answered(a call, v *verdicts, got reply) {
	retry := got.header.Values("Retry-After")
	later := len(retry) == 1 && retry[0] != "0"
	stays := a.leaves == 0
	if stays && got.header.Get("X-RateLimit-Source") == "local" {
		b.local++
	}
	switch got.status {
	case http.StatusOK:
		if a.kind == "evaluate" || a.kind == "hot" {
			b.decided(a, v, got)
			return
		}
		b.must(len(retry) == 0, a, got)
		b.heard.allowed++
		v.allowed++
		if stays && a.kind == "gateway" {
			b.passed++
		}
	case http.StatusTooManyRequests:
		b.must(later != strings.Contains(got.body, "allowed nothing"), a, got) // a limit of 0 says no time
		b.heard.denied++
		if strings.Contains(got.body, `"inbound-web:`) {
			v.after++
		} else {
			v.denied++
		}
	case http.StatusServiceUnavailable:
		b.must(later != strings.Contains(got.body, `"outcome":"incompatible"`), a, got)
		b.heard.failed++
		v.failed++
	default:
		b.must(false, a, got)
	}
}

// decided is a 200 of evaluate, whose body says what was decided.
func (b *book) decided(a call, v *verdicts, got reply) {
	switch {
	case strings.Contains(got.body, `"allowed":true`):
		b.heard.allowed++
		v.allowed++
		if a.kind == "hot" {
			b.hot++
		}
	case strings.Contains(got.body, `"allowed":false`):
		b.heard.denied++
		v.denied++
	default:
		b.must(false, a, got)
	}
}

func (s *soak) heard() (all heard) {
	for _, g := range s.gateways {
		g.book.mu.Lock()
		all = all.plus(g.book.heard)
		g.book.mu.Unlock()
	}
	return all
}

// compare holds the gateway's metrics against what its clients heard. A client that
// left cannot say what became of its request: all of those have a policy of their
// own, and only sums over the inbound-web limiter have them between two bounds.
func (g *soaked) compare(s *soak, shown exposition) {
	s.Helper()
	var passed, after, unsaid int64 // leavers apart
	gone := int64(0)
	for _, id := range slices.Sorted(maps.Keys(g.book.policies)) {
		v := g.book.policies[id]
		decided := func(verdict string) int64 {
			return shown.sum("edgelimit_decisions_total{", `policy="`+id+`"`, `verdict="`+verdict+`"`)
		}
		allowed, denied, none := decided("allowed"), decided("denied"), decided("none")
		switch id {
		case "":
			continue
		case "left":
			gone = v.gone
			within := allowed+denied+none <= v.allowed+v.after+v.denied+v.failed+v.gone
			s.check(within && denied >= v.denied, "%s: %q was asked %d times, and its clients were %+v", g.name, id, allowed+denied+none, *v)
			continue
		}
		s.check(denied == v.denied, "%s: %q denied %d, and its clients heard of %d", g.name, id, denied, v.denied)
		s.check(allowed+none == v.allowed+v.after+v.failed, "%s: %q allowed %d and failed %d, and its clients heard of %d, %d, %d after that",
			g.name, id, allowed, none, v.allowed, v.failed, v.after)
		s.check(v.allowed+v.after <= allowed, "%s: %q allowed %d, and its clients were let through %d times and denied after that %d times",
			g.name, id, allowed, v.allowed, v.after)
		passed, after, unsaid = passed+v.allowed, after+v.after, unsaid+allowed-v.allowed-v.after
	}
	between := func(what string, got, least, most int64) {
		s.Helper()
		s.check(got >= least && got <= most, "%s: %s: the metrics say %d, the clients %d to %d", g.name, what, got, least, most)
	}
	// What the edge port allowed and no client was told of, the inbound-web limiter failed.
	between("failures of the inbound-web limiter", shown.sum("edgelimit_inbound_failures_total{"), unsaid, unsaid+g.leavers())
	between("fallbacks", shown.sum("edgelimit_inbound_fallbacks_total{"), g.book.local, g.book.local+g.leavers())
	between("denials of the inbound-web limiter", shown.sum("hermes_rate_limit_rejected_total{"), after, after+gone)
	between("charged then denied", shown.sum("edgelimit_charged_then_denied_total"), after, after+gone)
}

// leavers is how many clients might have left, gone or not.
func (g *soaked) leavers() int64 {
	v := g.book.policies["left"]
	return v.allowed + v.denied + v.after + v.failed + v.gone
}

// check notes what does not hold, and goes on.
func (s *soak) check(holds bool, format string, arguments ...any) {
	s.Helper()
	if !holds {
		s.Errorf(format, arguments...)
	}
}
