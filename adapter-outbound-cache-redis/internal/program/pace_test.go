package program_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// mortalClock takes the time from the last argument, and lets a key die by that clock:
// the lifetime that a program gives is kept beside the key, which has gone once it has
// passed. A key without a lifetime stays for ever.
const mortalClock = `
local now = tonumber(table.remove(ARGV))
local server, death = redis, KEYS[1] .. ':death'
local at = server.call('GET', death)
if at and now >= tonumber(at) then server.call('DEL', KEYS[1], death) end
local redis = {call = function(command, key, value, ...)
  if command == 'PEXPIRE' then return server.call('SET', death, string.format('%.0f', now + tonumber(value))) end
  if key == nil then return server.call(command) end
  if value == nil then return server.call(command, key) end
  return server.call(command, key, value, ...)
end}
`

// asked is one evaluation of a timeline.
type asked struct{ now, cost int64 }

// live runs one timeline on a key that dies by its clock, and demands that no step
// leaves the key without a lifetime.
func live(b programtest.Bed, p ratelimit.Policy, timeline []asked) []model.Reply {
	b.T.Helper()
	ctx, death := context.Background(), b.Key+":death"
	timed := program.WithClock(program.For(p.Algorithm()), mortalClock)
	if err := b.Client.ScriptLoad(ctx, timed.Source).Err(); err != nil {
		b.T.Fatal(err)
	}
	pipe := b.Client.Pipeline()
	pipe.Del(ctx, b.Key, death)
	var ran []*redis.Cmd
	var left []*redis.IntCmd
	for _, step := range timeline {
		args := []any{"EVALSHA", timed.SHA, 1, b.Key}
		for _, arg := range program.PolicyArgs(p) {
			args = append(args, arg)
		}
		ran = append(ran, pipe.Do(ctx, append(args, step.cost, step.now)...))
		left = append(left, pipe.Exists(ctx, b.Key, death))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		b.T.Fatal(err)
	}
	replies := make([]model.Reply, len(timeline))
	for i := range timeline {
		if left[i].Val() == 1 {
			b.T.Fatalf("at %d ms the key has no lifetime", timeline[i].now)
		}
		replies[i] = b.Decode(ran[i])
	}
	return replies
}

// paces ask for a unit every so often from an instant until another, of which a number
// is to be admitted in each span of the time between.
var paces = []struct {
	sentence           string
	algorithm          ratelimit.Algorithm
	from, every, until int64
	span               int64
	least, most        int
}{
	{"one a window, as often, on the boundary", ratelimit.FixedWindow{Limit: 1, Window: time.Second}, 0, 1000, 60_000, 1000, 1, 1},
	{"one a window, as often, just after it", ratelimit.FixedWindow{Limit: 1, Window: time.Second}, 1, 1000, 60_001, 1000, 1, 1},
	{"one a window, as often, midway", ratelimit.FixedWindow{Limit: 1, Window: time.Second}, 500, 1000, 60_500, 1000, 1, 1},
	{"one a window, as often, just before it", ratelimit.FixedWindow{Limit: 1, Window: time.Second}, 999, 1000, 60_999, 1000, 1, 1},
	{"a steady trickle below the limit", ratelimit.FixedWindow{Limit: 5, Window: 2 * time.Second}, 0, 600, 24_000, 24_000, 40, 40},
	{"twice the limit, steadily", ratelimit.FixedWindow{Limit: 5, Window: 2 * time.Second}, 0, 200, 10_000, 2000, 5, 5},
	{"a window hammered", ratelimit.FixedWindow{Limit: 10, Window: time.Second}, 0, 10, 10_000, 1000, 10, 10},
	{"a counter hammered", ratelimit.SlidingWindowCounter{Limit: 10, Window: time.Second}, 0, 10, 10_000, 1000, 8, 10},
	{"a bucket smaller than what a second brings, in a burst", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 3, RefillPeriod: time.Second}, 0, 1, 30, 30, 1, 1},
	{"a bucket smaller than what a second brings", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 3, RefillPeriod: time.Second}, 0, 50, 3000, 1000, 3, 3},
	{"a bucket slower than anybody's patience", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 1, RefillPeriod: 10 * time.Second}, 0, 2020, 20_200, 10_100, 1, 1},
	{"four times the rate, for ten times as long as a bucket takes to fill", ratelimit.TokenBucket{Capacity: 20, RefillTokens: 10, RefillPeriod: time.Second}, 0, 25, 20_000, 20_000, 219, 219},
	{"a bucket asked more often than a token takes", ratelimit.TokenBucket{Capacity: 10, RefillTokens: 3, RefillPeriod: time.Second}, 0, 100, 10_000, 10_000, 39, 39},
	{"a bucket asked more often than a thousandth of a token takes", ratelimit.TokenBucket{Capacity: 2, RefillTokens: 1, RefillPeriod: 3 * time.Second}, 0, 2, 6000, 6000, 3, 3},
	{"a bucket asked at half a token", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 1, RefillPeriod: time.Second}, 0, 500, 10_000, 1000, 1, 1},
	{"a token every ten milliseconds, asked for every one", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 100, RefillPeriod: time.Second}, 0, 1, 1000, 10, 1, 1},
}

// graces are what keys live for beside what they need: nothing, or long enough to be
// found when what they hold is over.
var graces = map[string]time.Duration{"dies at once": 0, "stays a while": time.Minute}

func TestPace_isTheLimitsWhileKeysDieOfTheirLifetime(t *testing.T) {
	client := connect(t, redistest.Start(t).Addr())
	const start = 1_700_000_000_000
	for _, row := range paces {
		var timeline []asked
		for at := row.from; at < row.until; at += row.every {
			timeline = append(timeline, asked{start + at, 1})
		}
		for name, grace := range graces {
			t.Run(row.sentence+", of a key that "+name, func(t *testing.T) {
				b := programtest.Bed{T: t, Client: client, Key: t.Name()}
				admitted := make([]int, (row.until-row.from+row.span-1)/row.span)
				for i, r := range live(b, programtest.PolicyWith(t, row.algorithm, 0, grace), timeline) {
					if r.Status == model.Allowed {
						admitted[(timeline[i].now-start-row.from)/row.span]++
					}
				}
				for _, n := range admitted {
					if n < row.least || n > row.most {
						t.Fatalf("admitted %v, want %d to %d a span", admitted, row.least, row.most)
					}
				}
			})
		}
	}
}

// TestPace_saysWhenByWhatWasUsed are whole stories of keys that die by the clock.
func TestPace_saysWhenByWhatWasUsed(t *testing.T) {
	client := connect(t, redistest.Start(t).Addr())
	type step struct {
		now, cost                      int64
		status                         model.Status
		remaining, retryAfter, resetIn int64
	}
	for _, story := range []struct {
		sentence  string
		algorithm ratelimit.Algorithm
		steps     []step
	}{
		{"the time to full grows with what was taken", ratelimit.TokenBucket{Capacity: 100, RefillTokens: 10, RefillPeriod: time.Second}, []step{
			{10_000, 10, model.Allowed, 90, 0, 1000},
			{10_000, 50, model.Allowed, 40, 0, 6000},
			{10_000, 41, model.Denied, 40, 100, 6000},
		}},
		{"an idle bucket is full and no fuller", ratelimit.TokenBucket{Capacity: 10, RefillTokens: 100, RefillPeriod: time.Second}, []step{
			{10_000, 1, model.Allowed, 9, 0, 10},
			{10_009, 1, model.Allowed, 8, 0, 11},
			{15_009, 1, model.Allowed, 9, 0, 10},
			{15_024, 1, model.Allowed, 9, 0, 10},
		}},
		{"a refusal late in a window is told its end", ratelimit.FixedWindow{Limit: 10, Window: time.Minute}, []step{
			{60_000, 10, model.Allowed, 0, 0, 60_000},
			{110_000, 1, model.Denied, 0, 10_000, 10_000},
			{119_999, 1, model.Denied, 0, 1, 1},
			{120_000, 1, model.Allowed, 9, 0, 60_000},
		}},
		{"a counter remembers the window before", ratelimit.SlidingWindowCounter{Limit: 10, Window: time.Second}, []step{
			{10_950, 10, model.Allowed, 0, 0, 1050},
			{11_050, 1, model.Denied, 0, 50, 950},
			{11_100, 1, model.Allowed, 0, 0, 1900},
		}},
	} {
		var timeline []asked
		for _, s := range story.steps {
			timeline = append(timeline, asked{s.now, s.cost})
		}
		for name, grace := range graces {
			t.Run(story.sentence+", of a key that "+name, func(t *testing.T) {
				b := programtest.Bed{T: t, Client: client, Key: t.Name()}
				for i, r := range live(b, programtest.PolicyWith(t, story.algorithm, 0, grace), timeline) {
					got := step{r.ServerNowMillis, timeline[i].cost, r.Status, r.Remaining, r.RetryAfterMillis, r.ResetAtMillis - r.ServerNowMillis}
					if got != story.steps[i] {
						t.Errorf("step %d:\n got %+v\nwant %+v", i, got, story.steps[i])
					}
				}
			})
		}
	}
}
