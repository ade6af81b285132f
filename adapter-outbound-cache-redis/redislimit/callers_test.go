package redislimit_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

func (r *rig) evaluateIn(ctx context.Context, policyID, subject string, cost int64) ratelimit.Outcome {
	return r.provider.Evaluate(ctx, ratelimit.Request{PolicyID: policyID, SubjectDigest: subject, Cost: cost})
}

func TestCaller_withoutACommandsTimeIsRefusedAndNothingIsSent(t *testing.T) {
	r := newRig(t, redistest.Start(t))
	cancelled, cancel := context.WithTimeout(context.Background(), callerDeadline)
	cancel()
	late, cancelLate := context.WithTimeout(context.Background(), -time.Second)
	defer cancelLate()
	short, cancelShort := context.WithTimeout(context.Background(), commandTimeout-time.Millisecond)
	defer cancelShort()
	for sentence, ctx := range map[string]context.Context{
		"no deadline": context.Background(), "cancelled": cancelled, "its deadline has passed": late, "too short a deadline": short,
	} {
		before := r.link.Forwarded("EVALSHA")
		for _, p := range r.config.Policies {
			who := subject()
			if got := say(r.evaluateIn(ctx, p.ID(), who, 1)); got != "unavailable DEADLINE" {
				t.Errorf("%s: got %s, want unavailable DEADLINE", sentence, got)
			}
			r.expectCharged(p.ID(), who, 0)
		}
		if got := r.link.Forwarded("EVALSHA") - before; got != 0 {
			t.Errorf("%s: %d evaluations were sent, want 0", sentence, got)
		}
	}
}

func TestCaller_withABadRequestIsRefusedAndNothingIsSent(t *testing.T) {
	r := newRig(t, redistest.Start(t))
	before := r.link.Forwarded("EVALSHA")
	for sentence, req := range map[string]ratelimit.Request{
		"the zero request":   {},
		"an unknown policy":  {PolicyID: "unknown", SubjectDigest: subject(), Cost: 1},
		"a cost of zero":     {PolicyID: "token-bucket", SubjectDigest: subject()},
		"a cost above most":  {PolicyID: "token-bucket", SubjectDigest: subject(), Cost: policyLimit + 1},
		"an evaluation id":   {PolicyID: "token-bucket", SubjectDigest: subject(), Cost: 1, EvaluationID: "e"},
		"a malformed digest": {PolicyID: "token-bucket", SubjectDigest: "192.0.2.1, 192.0.2.2", Cost: 1},
	} {
		// Not even a deadline is needed to refuse what cannot be served.
		if got := say(r.provider.Evaluate(context.Background(), req)); got != "incompatible REQUEST" {
			t.Errorf("%s: got %s, want incompatible REQUEST", sentence, got)
		}
	}
	if got := r.link.Forwarded("EVALSHA") - before; got != 0 {
		t.Errorf("%d evaluations were sent, want 0", got)
	}
}

func TestCaller_whoLeavesIsAnsweredAtOnceAndHisReplyIsDropped(t *testing.T) {
	r := newRig(t, redistest.Start(t), func(c *redislimit.Config) { c.Redis.MaxInFlight = 1 })
	const slow = 150 * time.Millisecond
	who := subject()
	for n := range int64(4) {
		r.link.Fault("EVALSHA", 1, redistest.Delay(slow))
		ctx, leave := context.WithTimeout(context.Background(), callerDeadline)
		began := time.Now()
		sent := r.link.Forwarded("EVALSHA")
		go func() {
			r.eventually("send", func() bool { return r.link.Forwarded("EVALSHA") > sent })
			leave()
		}()
		got := say(r.evaluateIn(ctx, "token-bucket", who, 10))
		if got != "indeterminate" || time.Since(began) >= slow {
			t.Errorf("got %s after %v, want indeterminate before %v", got, time.Since(began), slow)
		}
		// On the one connection the dropped reply comes first.
		r.expect("token-bucket", who, 1, allowed(policyLimit-11*(n+1)))
	}
	if got := r.link.Dials(); got != 2 {
		t.Errorf("%d dials, want 2: the connection serves on, and one watches health", got)
	}
	if breaker := r.provider.Connection().Breaker(); breaker != "closed" {
		t.Errorf("the breaker is %s after callers left, want closed", breaker)
	}
}

// Callers who leave all the time take nothing from those who stay.
func TestCaller_manyWhoLeaveHarmNobody(t *testing.T) {
	r := newRig(t, redistest.Start(t), func(c *redislimit.Config) {
		c.Redis.CommandTimeout, c.Redis.AdmissionWait = 2*time.Second, 2*time.Second
		c.Policies = largePolicies(t)
	})
	who := subject()
	var leavers sync.WaitGroup
	stop := make(chan struct{})
	for n := range 8 {
		leavers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				ctx, leave := context.WithTimeout(context.Background(), callerDeadline)
				time.AfterFunc(time.Duration(n)*100*time.Microsecond, leave)
				if got := say(r.evaluateIn(ctx, "fixed-window", subject(), 1)); got != "indeterminate" &&
					got != allowed(largeLimit-1) && got != "unavailable DEADLINE" && got != "unavailable OVERLOADED" &&
					got != "unavailable CONNECTION" {
					t.Errorf("a leaver got %s", got)
				}
				leave()
			}
		})
	}
	for n := range int64(300) {
		r.expect("token-bucket", who, 1, allowed(largeLimit-1-n))
	}
	close(stop)
	leavers.Wait()
	if breaker := r.provider.Connection().Breaker(); breaker != "closed" {
		t.Errorf("the breaker is %s, want closed", breaker)
	}
}

// The time that is left is looked at again before the source follows NOSCRIPT.
func TestCaller_withTooLittleTimeAfterNOSCRIPTIsNotSentTheSource(t *testing.T) {
	r := newRig(t, redistest.Start(t))
	r.server.Do(t, "SCRIPT", "FLUSH")
	before := r.link.Forwarded("EVAL")
	r.link.Fault("EVALSHA", 1, redistest.Delay(commandTimeout*2/3))
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout*3/2)
	defer cancel()
	who := subject()
	if got := say(r.evaluateIn(ctx, "token-bucket", who, 1)); got != "unavailable DEADLINE" {
		t.Errorf("got %s, want unavailable DEADLINE", got)
	}
	if got := r.link.Forwarded("EVAL") - before; got != 0 {
		t.Errorf("the source was sent %d times, want 0", got)
	}
	r.expectCharged("token-bucket", who, 0)
	r.expect("token-bucket", who, 1, allowed(policyLimit-1))
}

// A caller waits for a place only while a command's time would be left.
func TestCaller_withLittleTimeDoesNotWaitForAPlaceInVain(t *testing.T) {
	r := newRig(t, redistest.Start(t), func(c *redislimit.Config) {
		c.Redis.MaxInFlight, c.Redis.AdmissionWait = 1, 5*time.Second
		c.Redis.CommandTimeout = time.Second
	})
	sent := r.link.Forwarded("EVALSHA")
	r.link.Fault("EVALSHA", 1, redistest.Delay(800*time.Millisecond))
	var slow sync.WaitGroup
	slow.Go(func() { r.expect("token-bucket", subject(), 1, allowed(policyLimit-1)) })
	r.eventually("be busy", func() bool { return r.link.Forwarded("EVALSHA") > sent })
	ctx, cancel := context.WithTimeout(context.Background(), time.Second+50*time.Millisecond)
	defer cancel()
	began, who := time.Now(), subject()
	got := say(r.evaluateIn(ctx, "token-bucket", who, 1))
	if got != "unavailable OVERLOADED" || time.Since(began) > 500*time.Millisecond {
		t.Errorf("got %s after %v, want unavailable OVERLOADED after 50ms", got, time.Since(began))
	}
	slow.Wait()
	r.expectCharged("token-bucket", who, 0)
}

// Fifty policies with limits of their own, few connections, late and doubled
// replies: no decision ever shows another's numbers.
func TestCaller_neverGetsAnothersReply(t *testing.T) {
	var fifty []ratelimit.Policy
	for n := range int64(50) {
		fifty = append(fifty, policyOf(t, "limit-"+strconv.FormatInt(1000+n, 10),
			ratelimit.FixedWindow{Limit: 1000 + n, Window: 366 * 24 * time.Hour}))
	}
	r := newRig(t, redistest.Start(t), func(c *redislimit.Config) {
		c.Policies = fifty
		c.Redis.MaxInFlight, c.Redis.CommandTimeout, c.Redis.AdmissionWait = 5, 60*time.Millisecond, 5*time.Second
		c.Redis.BreakerFailures = 1 << 30
	})
	doubled := append(reply("ALLOWED 1000 1000 1000 7 0 2000"), reply("ALLOWED 1000 1000 1001 7 0 2000")...)
	for range 8 {
		for range 7 {
			r.link.Fault("EVALSHA", 1, redistest.Pass())
		}
		r.link.Fault("EVALSHA", 1, redistest.Delay(90*time.Millisecond))
		for range 7 {
			r.link.Fault("EVALSHA", 1, redistest.Pass())
		}
		r.link.Fault("EVALSHA", 1, redistest.Replace(nil)) // the next reply stands in its place
		for range 7 {
			r.link.Fault("EVALSHA", 1, redistest.Pass())
		}
		r.link.Fault("EVALSHA", 1, redistest.Replace(doubled))
	}
	var callers sync.WaitGroup
	outcomes := make(chan string, 50*20)
	for _, p := range fifty {
		callers.Go(func() {
			who, most := subject(), p.Limit()
			for range 10 {
				o := r.evaluate(p.ID(), who, 1)
				ratelimit.Match(o, func(e ratelimit.Evaluated) struct{} {
					d := e.Decision
					if d.PolicyID != p.ID() || d.Limit != p.Limit() || !d.Allowed || d.Remaining >= most && d.Remaining != 7 {
						t.Errorf("%s: got %+v after %d remained", p.ID(), d, most)
					}
					if d.Remaining != 7 { // the planted one
						most = d.Remaining
					}
					outcomes <- "evaluated"
					return struct{}{}
				}, func(u ratelimit.Unavailable) struct{} { outcomes <- "unavailable"; return struct{}{} },
					func(ratelimit.Indeterminate) struct{} { outcomes <- "indeterminate"; return struct{}{} },
					func(i ratelimit.Incompatible) struct{} { outcomes <- string(i.Category); return struct{}{} })
			}
			if d := say(r.evaluate(p.ID(), who, 1)); d != allowed(p.Limit()-1-r.consumed(p.ID(), who)+1) {
				t.Errorf("%s: at last got %s, the server consumed %d", p.ID(), d, r.consumed(p.ID(), who))
			}
		})
	}
	callers.Wait()
	close(outcomes)
	counts := map[string]int{}
	for outcome := range outcomes {
		counts[outcome]++
	}
	// A planted reply is of a limit that 49 in 50 do not have, and what it shifts is of
	// another policy: up to the end of its group.
	if counts["evaluated"] < 300 || counts["REPLY"] == 0 || counts["indeterminate"] == 0 {
		t.Errorf("outcomes %v", counts)
	}
	t.Log(counts)
}

// consumed is what a fixed window has counted, whatever its limit.
func (r *rig) consumed(policyID, digest string) int64 {
	n, err := strconv.ParseInt(fmt.Sprint(r.server.Do(r.t, "HGET", r.stateKey(policyID, digest), "consumed")), 10, 64)
	if err != nil {
		r.t.Error(err)
	}
	return n
}

// A reply that comes twice leaves nothing for the next caller to read.
func TestCaller_afterADoubledReplyReadsHisOwn(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		r := newRig(t, redistest.Start(t), func(c *redislimit.Config) { c.Redis.MaxInFlight, c.Redis.Protocol = 1, protocol })
		for range 5 {
			twice := append(reply("ALLOWED 1000 1000 100 42 0 2000"), reply("ALLOWED 1000 1000 100 41 0 2000")...)
			r.link.Fault("EVALSHA", 1, redistest.Replace(twice))
			r.expect("token-bucket", subject(), 1, allowed(42))
			r.expect("token-bucket", subject(), 1, allowed(policyLimit-1))
		}
	}
}

func TestState_thatIsFromTheFutureIsCLOCKAndExact(t *testing.T) {
	r := newRig(t, redistest.Start(t))
	numbers := map[string][]string{
		"fixed-window": {"consumed", "1"}, "sliding-window-counter": {"previous", "0", "current", "1"},
		"token-bucket": {"tokens", "1000", "remainder", "0"},
	}
	for id, fields := range numbers {
		who := subject()
		before := r.serverMillis()
		observed := before + 3_600_000
		r.plant(id, who, append([]string{"observed", strconv.FormatInt(observed, 10)}, fields...)...)
		o := r.evaluate(id, who, 1)
		after := r.serverMillis()
		if say(o) != "unavailable CLOCK" {
			t.Errorf("%s: got %s, want unavailable CLOCK", id, say(o))
		}
		retry := ratelimit.Match(o, func(ratelimit.Evaluated) time.Duration { return 0 },
			func(u ratelimit.Unavailable) time.Duration { return u.RetryAfter },
			func(ratelimit.Indeterminate) time.Duration { return 0 }, func(ratelimit.Incompatible) time.Duration { return 0 })
		if safe := observed - 2000; retry.Milliseconds() > safe-before || retry.Milliseconds() < safe-after {
			t.Errorf("%s: retry after %v, want %d to %d ms", id, retry, safe-after, safe-before)
		}
	}
}

func TestState_thatIsNotOursIsSTATEAndStays(t *testing.T) {
	r := newRig(t, redistest.Start(t))
	for _, p := range r.config.Policies {
		who := subject()
		r.server.Do(t, "SET", r.stateKey(p.ID(), who), "1")
		r.expect(p.ID(), who, 1, "incompatible STATE")
		if got := r.server.Do(t, "GET", r.stateKey(p.ID(), who)); got != "1" {
			t.Errorf("%s: the key became %v", p.ID(), got)
		}
	}
}
