package programtest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// unwritten are states in which nothing is left, by the instant at which they were last
// observed, and what is decided on them at StateNowMillis. None of it may write.
var unwritten = []struct {
	sentence string
	observed int64
	status   model.Status
}{
	{"now", StateNowMillis, model.Denied},
	{"held", StateNowMillis + 2000, model.Denied},
	{"unsafe", StateNowMillis + 2001, model.ClockUnsafe},
	{"unsafe by a year", StateNowMillis + 31_536_000_000, model.ClockUnsafe},
}

// PlantUsed plants a state of one of Ordinary's policies in which nothing is left,
// observed at an instant.
func PlantUsed(t *testing.T, client *redis.Client, p ratelimit.Policy, key string, observedMillis int64) {
	t.Helper()
	Plant(t, client, key, UsedFields(p, observedMillis)...)
	client.PExpire(context.Background(), key, time.Hour)
}

// KeepsStates demands that a denial and a clock that is unsafe change nothing of a
// state, nor when it expires. It answers how many calls there were.
func KeepsStates(t *testing.T, client *redis.Client, prefix string) (calls int) {
	for _, p := range Ordinary(t) {
		timed := program.WithClock(program.For(p.Algorithm()), SetClock)
		key := prefix + timed.Name
		for _, row := range unwritten {
			PlantUsed(t, client, p, key, row.observed)
			before := Content(t, client, key)
			for range 3 {
				calls++
				got := Eval(t, client, timed, []string{key}, append(program.PolicyArgs(p), "1", Decimal(StateNowMillis))...)
				if got[0] != string(row.status) {
					t.Errorf("%s observed at %d: got %s, want %s", timed.Name, row.observed, Text(got), row.status)
				}
			}
			if after := Content(t, client, key); after != before {
				t.Errorf("%s: %s left %s, was %s", timed.Name, row.status, after, before)
			}
		}
	}
	return calls
}

// BatchKeepsStates is KeepsStates by the batch. It answers how many decisions there
// were.
func BatchKeepsStates(t *testing.T, client *redis.Client, prefix string) (decisions int) {
	for _, p := range Ordinary(t) {
		var keys, costs, before []string
		for i, row := range unwritten {
			keys, costs = append(keys, prefix+"batch "+row.sentence), append(costs, "1")
			PlantUsed(t, client, p, keys[i], row.observed)
			before = append(before, Content(t, client, keys[i]))
		}
		for range 3 {
			got := EvalBatch(t, client, TimedBatch, keys, append(BatchArgs(p, costs...), Decimal(StateNowMillis))...)
			for i, row := range unwritten {
				decisions++
				if status, _, _ := strings.Cut(got[i], " "); status != string(row.status) {
					t.Errorf("%s, %s: got %s, want %s", p.Algorithm().Name(), row.sentence, got[i], row.status)
				}
			}
		}
		for i, row := range unwritten {
			if after := Content(t, client, keys[i]); after != before[i] {
				t.Errorf("%s, %s: left %s, was %s", p.Algorithm().Name(), row.sentence, after, before[i])
			}
		}
	}
	return decisions
}

// deadLog is when a call was that no longer counts at LogNow.
const deadLog = LogNow - 2*LogWindow

// unwrittenLogs are calls of two logs that are refused, and the times in the logs.
var unwrittenLogs = []struct {
	sentence     string
	now          int64
	outer, inner []int64
	limits       []int64
	status       model.Status
}{
	{"the outer is full", LogNow, []int64{deadLog, LogNow - 5}, []int64{deadLog}, []int64{1, 5}, model.Denied},
	{"the inner is full", LogNow, []int64{deadLog}, []int64{deadLog, LogNow - 5}, []int64{5, 1}, model.Denied},
	{"both are full", LogNow, []int64{deadLog, LogNow - 5}, []int64{deadLog, LogNow - 5}, []int64{1, 1}, model.Denied},
	{"the outer limit is 0", LogNow, []int64{deadLog}, []int64{deadLog}, []int64{0, 5}, model.Denied},
	{"the inner limit is 0", LogNow, []int64{deadLog}, []int64{deadLog}, []int64{5, 0}, model.Denied},
	{"a clock one window back denies", LogNow - LogWindow, []int64{deadLog, LogNow}, []int64{deadLog}, []int64{1, 5}, model.Denied},
	{"the outer is too far ahead", LogNow - LogWindow - 1, []int64{deadLog, LogNow}, []int64{deadLog}, []int64{5, 5}, model.ClockUnsafe},
	{"the inner is too far ahead", LogNow - LogWindow - 1, []int64{deadLog}, []int64{deadLog, LogNow}, []int64{5, 5}, model.ClockUnsafe},
}

// LogKeepsLogs demands that a denial and a clock that is unsafe change neither log, nor
// when it expires, however much in them no longer counts. It answers how many calls
// there were.
func LogKeepsLogs(t *testing.T, client *redis.Client, prefix string) (calls int) {
	outer, inner := prefix+"outer", prefix+"inner"
	for _, row := range unwrittenLogs {
		PlantLog(t, client, outer, row.outer...)
		PlantLog(t, client, inner, row.inner...)
		before := Content(t, client, outer) + Content(t, client, inner)
		for range 3 {
			calls++
			got := EvalLog(t, client, []string{outer, inner}, row.now, LogWindow, row.limits)
			if !strings.HasPrefix(got, string(row.status)+" ") {
				t.Errorf("%s: got %s, want %s", row.sentence, got, row.status)
			}
		}
		if after := Content(t, client, outer) + Content(t, client, inner); after != before {
			t.Errorf("%s: left %s, was %s", row.sentence, after, before)
		}
	}
	return calls
}
