package promises_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// boundaryPolicies have windows and rates that divide evenly and ones that do not.
func boundaryPolicies(t *testing.T) []ratelimit.Policy {
	var policies []ratelimit.Policy
	for _, a := range []ratelimit.Algorithm{
		ratelimit.FixedWindow{Limit: 10, Window: time.Minute},
		ratelimit.FixedWindow{Limit: 7, Window: 1237 * time.Millisecond},
		ratelimit.SlidingWindowCounter{Limit: 10, Window: time.Minute},
		ratelimit.SlidingWindowCounter{Limit: 13, Window: 977 * time.Millisecond},
		ratelimit.TokenBucket{Capacity: 10, RefillTokens: 3, RefillPeriod: time.Minute},
		ratelimit.TokenBucket{Capacity: 17, RefillTokens: 7, RefillPeriod: 3331 * time.Millisecond},
	} {
		policies = append(policies, programtest.PolicyWith(t, a, 2*time.Second, 30*time.Second))
	}
	return policies
}

// boundary is a state in which something is refused.
type boundary struct {
	*scene
	policy ratelimit.Policy
	asker  asker
	key    string
}

// What is refused is admitted when it was said, not a millisecond sooner, and whoever asks meanwhile changes nothing.
func exactRetries(t *testing.T, at redistest.Witness) {
	s, denials := newScene(t, at), 0
	for i, p := range boundaryPolicies(t) {
		for _, a := range askers {
			for n, into := range []int64{0, 1, 487, 976} {
				b := boundary{s, p, a, s.key(fmt.Sprint(i, a.name, n))}
				at := b.use(programtest.StateNowMillis + into)
				for _, after := range []int64{0, 3, 41, -1500} { // the last by a clock that is held
					for _, cost := range []int64{1, 2, p.Limit() / 2, p.Limit()} {
						denials += b.demandExact(at+after, cost)
					}
				}
			}
		}
	}
	if denials < 500 {
		t.Errorf("%d denials, too few to show anything", denials)
	}
	evidence.Record(t, "denials admitted at their retry-after and not a millisecond before", "%d", denials)
}

// use takes the whole limit in several costs, the last one a while after the first, and answers when that was.
func (b boundary) use(at int64) int64 {
	b.Helper()
	for _, cost := range []int64{3, 1} {
		if r := b.asker.ask(b.scene, b.policy, b.key, at, cost); r.Status != model.Allowed {
			b.Fatalf("%+v: cost %d on a fresh state: %+v", b.policy, cost, r)
		}
	}
	at += 211
	for cost := b.policy.Limit(); ; cost-- {
		if r := b.asker.ask(b.scene, b.policy, b.key, at, cost); r.Status == model.Allowed || cost == 1 {
			if r.Remaining != 0 {
				b.Fatalf("%+v: %d left of a state that was used up", b.policy, r.Remaining)
			}
			return at
		}
	}
}

// demandExact answers 1 if the cost was denied, and demands then all that the denial says.
func (b boundary) demandExact(now, cost int64) int {
	b.Helper()
	before := programtest.Content(b.T, b.client, b.key)
	denied := b.asker.ask(b.scene, b.policy, b.key, now, cost)
	if denied.Status == model.Allowed {
		b.Fatalf("%+v at %d: cost %d was admitted to a state that was used up", b.policy, now, cost)
	}
	if denied.Status != model.Denied || denied.RetryAfterMillis < 1 {
		b.Fatalf("%+v at %d: cost %d: %+v, want a denial", b.policy, now, cost, denied)
	}
	due := now + denied.RetryAfterMillis
	if sooner := b.asker.ask(b.scene, b.policy, b.key, due-1, cost); sooner.Status != model.Denied || sooner.RetryAfterMillis != 1 {
		b.Errorf("%+v, %s: cost %d, said at %d to wait %d ms, is answered %+v a millisecond before",
			b.policy, b.asker.name, cost, now, denied.RetryAfterMillis, sooner)
	}
	if after := programtest.Content(b.T, b.client, b.key); after != before {
		b.Errorf("%+v, %s: denials left %s, was %s", b.policy, b.asker.name, after, before)
	}
	// On a copy, so that the denied state stays for the next.
	if err := b.client.Copy(context.Background(), b.key, b.key+" copy", 0, true).Err(); err != nil {
		b.Fatal(err)
	}
	if then := b.asker.ask(b.scene, b.policy, b.key+" copy", due, cost); then.Status != model.Allowed {
		b.Errorf("%+v, %s: cost %d, said at %d to wait %d ms, is answered %+v then",
			b.policy, b.asker.name, cost, now, denied.RetryAfterMillis, then)
	}
	return 1
}

// A call stops counting a window after it was made, to the microsecond, and what is told is that in whole milliseconds.
func exactLogRetries(t *testing.T, at redistest.Witness) {
	s, denials := newScene(t, at), 0
	const now, window = programtest.LogNow, programtest.LogWindow
	for _, oldest := range []int64{now - window + 1, now - window + 999, now - window + 1000, now - window + 1001, now - 31_234_567, now - 2} {
		for _, limits := range [][]int64{{3}, {3, 9}, {9, 3}} { // of one layer and of two, the one with 3 is full
			keys := []string{s.key("outer"), s.key("inner")}[:len(limits)]
			for _, key := range keys {
				programtest.PlantLog(t, s.client, key, oldest, oldest+1, oldest+2)
			}
			free := oldest + window
			retry := (free - now + 999) / 1000
			before := s.contents(keys)
			for at, want := range map[int64]string{now: "DENIED", now + (retry-1)*1000: "DENIED", free - 1: "DENIED"} {
				denials++
				got := strings.Fields(programtest.EvalLog(t, s.client, keys, at, window, limits))
				if got[0] != want || at == now && got[3] != programtest.Decimal(retry) {
					t.Errorf("oldest %d, limits %d, at %d: got %s, want %s, at first for %d ms", oldest, limits, at, got, want, retry)
				}
			}
			if after := s.contents(keys); after != before {
				t.Errorf("oldest %d, limits %d: denials left %s, was %s", oldest, limits, after, before)
			}
			if got := programtest.EvalLog(t, s.client, keys, free, window, limits); !strings.HasPrefix(got, "ALLOWED ") {
				t.Errorf("oldest %d, limits %d, at the instant: got %s, want ALLOWED", oldest, limits, got)
			}
		}
	}
	evidence.Record(t, "denials of logs admitted to the microsecond", "%d", denials)
}

func (s *scene) contents(keys []string) (all string) {
	s.Helper()
	for _, key := range keys {
		all += programtest.Content(s.T, s.client, key)
	}
	return all
}
