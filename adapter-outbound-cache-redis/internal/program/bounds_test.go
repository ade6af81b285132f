package program_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

const most = ratelimit.MaxSafeInteger

// extreme is an evaluation at the bounds of what a policy may be, worked out by
// hand. The state before it was written at observed.
type extreme struct {
	sentence   string
	algorithm  ratelimit.Algorithm
	regression time.Duration
	observed   int64
	state      []string // nil: no key
	now, cost  int64
	want       model.Reply
	ttl        int64 // with a grace of 366 days
}

var extremes = []extreme{
	{
		sentence:  "the largest limit is charged whole in a window of 366 days",
		algorithm: ratelimit.FixedWindow{Limit: most, Window: ratelimit.MaxSpan},
		now:       31622400000*55 + 1, cost: most,
		want: model.Reply{Status: model.Allowed, Limit: most, ResetAtMillis: 31622400000 * 56},
		ttl:  31622400000 - 1 + 31622400000,
	},
	{
		sentence:  "all but one of the largest limit is used",
		algorithm: ratelimit.FixedWindow{Limit: most, Window: time.Millisecond},
		observed:  1700000000001, state: []string{"consumed", "9007199254740990"},
		now: 1700000000001, cost: 2,
		want: model.Reply{Status: model.Denied, Limit: most, Remaining: 1, RetryAfterMillis: 1, ResetAtMillis: 1700000000002},
	},
	{
		sentence:   "a clock 366 days behind is held for 366 days",
		algorithm:  ratelimit.FixedWindow{Limit: most, Window: ratelimit.MaxSpan},
		regression: ratelimit.MaxSpan,
		observed:   31622400000 * 55, state: []string{"consumed", "0"},
		now: 31622400000 * 54, cost: 1,
		want: model.Reply{
			Status: model.Allowed, EffectiveNowMillis: 31622400000 * 55, Limit: most, Remaining: most - 1,
			ResetAtMillis: 31622400000 * 56,
		},
		ttl: 3 * 31622400000,
	},
	{
		sentence:  "the last instant of all was observed",
		algorithm: ratelimit.FixedWindow{Limit: 1, Window: time.Second},
		observed:  most, state: []string{"consumed", "1"},
		now: 1700000000000, cost: 1,
		want: model.Reply{
			Status: model.ClockUnsafe, EffectiveNowMillis: most, Limit: 1,
			RetryAfterMillis: most - 1700000000000, ResetAtMillis: most,
		},
	},
	{
		sentence:  "the largest counter weighs the largest window, one millisecond in",
		algorithm: ratelimit.SlidingWindowCounter{Limit: 9007199254, Window: 9007199254 * time.Millisecond},
		observed:  9007199254 * 200, state: []string{"previous", "9007199254", "current", "0"},
		now: 9007199254*200 + 1, cost: 1,
		// weight = ceil((w-1)*10^6/w) = 10^6, so all of the previous window counts.
		// retry: wmax = floor((w-1)*10^6/w) = 999999, at = start+w-floor(999999*w/10^6) = start+9008.
		want: model.Reply{
			Status: model.Denied, Limit: 9007199254, RetryAfterMillis: 9008 - 1, ResetAtMillis: 9007199254 * 201,
		},
	},
	{
		sentence:  "the largest counter in a window of a millisecond",
		algorithm: ratelimit.SlidingWindowCounter{Limit: 9007199254, Window: time.Millisecond},
		observed:  1700000000000, state: []string{"previous", "0", "current", "9007199253"},
		now: 1700000000000, cost: 1,
		want: model.Reply{Status: model.Allowed, Limit: 9007199254, ResetAtMillis: 1700000000002},
		ttl:  2 + 31622400000,
	},
	{
		sentence:  "the largest bucket was emptied and gains the largest refill of a millisecond",
		algorithm: ratelimit.TokenBucket{Capacity: 9007199254740, RefillTokens: 9007199254740, RefillPeriod: time.Millisecond},
		observed:  1700000000000, state: []string{"tokens", "0", "remainder", "0"},
		now: 1700000000001, cost: 9007199254740,
		want: model.Reply{Status: model.Allowed, Limit: 9007199254740, ResetAtMillis: 1700000000002},
		ttl:  1 + 31622400000,
	},
	{
		sentence:  "one token in 366 days, less one millisecond",
		algorithm: ratelimit.TokenBucket{Capacity: 1, RefillTokens: 1, RefillPeriod: ratelimit.MaxSpan},
		observed:  1700000000000, state: []string{"tokens", "0", "remainder", "0"},
		now: 1700000000000 + 31622400000 - 1, cost: 1,
		want: model.Reply{Status: model.Denied, Limit: 1, RetryAfterMillis: 1, ResetAtMillis: 1700000000000 + 31622400000},
	},
	{
		sentence:  "the largest remainder makes the token whole a little sooner",
		algorithm: ratelimit.TokenBucket{Capacity: 1, RefillTokens: 1, RefillPeriod: ratelimit.MaxSpan},
		observed:  1700000000000, state: []string{"tokens", "0", "remainder", "31622399999"},
		now: 1700000000000, cost: 1,
		// ceil((1000 * 31622400000 - 31622399999) / 1000)
		want: model.Reply{Status: model.Denied, Limit: 1, RetryAfterMillis: 31590777601, ResetAtMillis: 1700000000000 + 31590777601},
	},
	{
		sentence:  "a bucket untouched since 1970 is full and no fuller",
		algorithm: ratelimit.TokenBucket{Capacity: 38155134, RefillTokens: 104249, RefillPeriod: 24*time.Hour - time.Millisecond},
		observed:  0, state: []string{"tokens", "0", "remainder", "86399998"},
		now: 1700000000000, cost: 1,
		// ceil(1000 * 86399999 / 104249000)
		want: model.Reply{Status: model.Allowed, Limit: 38155134, Remaining: 38155133, ResetAtMillis: 1700000000829},
		ttl:  829 + 31622400000,
	},
}

func TestBounds_exactAtTheBoundsOfEveryPolicy(t *testing.T) {
	client := connect(t, redistest.Start(t).Addr())
	ctx := context.Background()
	for _, row := range extremes {
		p := programtest.PolicyWith(t, row.algorithm, row.regression, ratelimit.MaxSpan)
		client.Del(ctx, "extreme")
		if row.state != nil {
			programtest.Plant(t, client, "extreme", append([]string{"schema", program.Schema(p), "observed", programtest.Decimal(row.observed)}, row.state...)...)
		}
		timed := program.WithClock(program.For(row.algorithm), programtest.SetClock)
		args := []any{"EVAL", timed.Source, 1, "extreme"}
		for _, arg := range append(program.PolicyArgs(p), programtest.Decimal(row.cost), programtest.Decimal(row.now)) {
			args = append(args, arg)
		}
		var raw bytes.Buffer
		if err := client.Process(ctx, redis.NewRawWriteToCmd(ctx, &raw, args...)); err != nil {
			t.Fatal(err)
		}
		row.want.ServerNowMillis = row.now
		row.want.EffectiveNowMillis = max(row.now, row.want.EffectiveNowMillis)
		got, err := reply.Decode(raw.Bytes(), p.Limit())
		if err != nil || got != row.want {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", row.sentence, got, err, row.want)
		}
		if ttl := lifetime(t, client, "extreme"); ttl != row.ttl {
			t.Errorf("%s: lifetime %d, want %d", row.sentence, ttl, row.ttl)
		}
	}
}
