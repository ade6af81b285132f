package promises_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// The production text on the server's own clock: who asks all the time is denied until the instant that the first
// denial named, by the clock of each answer, and is admitted by the first answer from then on.
func retriesByTheServersClock(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	for _, a := range []ratelimit.Algorithm{
		ratelimit.FixedWindow{Limit: 5, Window: 97 * time.Millisecond},
		ratelimit.SlidingWindowCounter{Limit: 5, Window: 97 * time.Millisecond},
		ratelimit.TokenBucket{Capacity: 5, RefillTokens: 5, RefillPeriod: 97 * time.Millisecond},
	} {
		p := programtest.PolicyWith(t, a, 0, 30*time.Second)
		for _, cost := range []int64{1, 3, 5} {
			denied, admitted := 0, 0
			var due int64
			for began := time.Now(); admitted < 3 && time.Since(began) < generous; {
				r := s.now(p, string(a.Name()), cost)
				switch {
				case r.Status == model.Allowed:
					if due != 0 && r.ServerNowMillis < due {
						t.Fatalf("%s, cost %d: admitted at %d, and %d was said", a.Name(), cost, r.ServerNowMillis, due)
					}
					if due != 0 {
						admitted++
					}
					due = 0
				case due == 0:
					due = r.ServerNowMillis + r.RetryAfterMillis
				default:
					denied++
					if r.ServerNowMillis+r.RetryAfterMillis != due {
						t.Fatalf("%s, cost %d: denied until %d, and %d was said: %+v", a.Name(), cost, r.ServerNowMillis+r.RetryAfterMillis, due, r)
					}
				}
				if r.Status == model.Denied && r.RetryAfterMillis < 1 {
					t.Fatalf("%s, cost %d: %+v waits for nothing", a.Name(), cost, r)
				}
			}
			if admitted < 3 || denied == 0 {
				t.Errorf("%s, cost %d: %d waits ended, with %d denials in them", a.Name(), cost, admitted, denied)
			}
		}
	}
}

// now runs p's program as it is sent in production, once.
func (s *scene) now(p ratelimit.Policy, name string, cost int64) model.Reply {
	s.Helper()
	run := program.For(p.Algorithm())
	argv := append(program.PolicyArgs(p), programtest.Decimal(cost))
	return replyIn(s.T, programtest.Text(programtest.Eval(s.T, s.client, run, []string{s.key(name)}, argv...)))
}

// The log does not tell its clock, so each answer is between two readings of it.
func logRetriesByTheServersClock(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	const window = 90_000 // microseconds
	keys, argv := []string{s.key("outer"), s.key("inner")}, []string{programtest.Decimal(window), "9", "2"}
	asked, admitted, early := 0, 0, 0
	var earliest, latest int64 // microseconds between which the log has room again
	for began := time.Now(); admitted < 8 && time.Since(began) < generous; asked++ {
		from, status, retry, until := s.askLog(keys, argv)
		switch {
		case status == string(model.Denied) && latest == 0:
			earliest, latest = from+(retry-1)*1000, until+retry*1000
		case status == string(model.Denied):
			early++
			if from >= latest {
				t.Fatalf("denied from %d on, and room was said to be by %d", from, latest)
			}
		case latest != 0:
			admitted++
			if until < earliest {
				t.Fatalf("admitted by %d, and no room was said to be before %d", until, earliest)
			}
			earliest, latest = 0, 0
		}
	}
	if admitted < 8 || early == 0 {
		t.Errorf("%d waits ended in %d calls, with %d denials in them", admitted, asked, early)
	}
	evidence.Record(t, "waits for a log of two layers on the server's own clock", "%d, with %d denials in them", admitted, early)
}

func (s *scene) askLog(keys, argv []string) (from int64, status string, retryMillis, until int64) {
	s.Helper()
	ctx := context.Background()
	pipe := s.client.Pipeline()
	before := pipe.Time(ctx)
	ran := pipe.Do(ctx, programtest.Command("EVAL", program.SlidingLogDual.Source, keys, argv)...)
	after := pipe.Time(ctx)
	if _, err := pipe.Exec(ctx); err != nil {
		s.Fatal(err)
	}
	return before.Val().UnixMicro(), words(ran)[0].(string), words(ran)[3].(int64), after.Val().UnixMicro()
}

func words(ran *redis.Cmd) []any {
	values, _ := ran.Slice()
	return values
}
