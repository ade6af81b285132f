package programtest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/vectors"
)

// LogStep is what one call of the log program answered.
type LogStep struct {
	Status  model.Status
	Numbers []int64 // remaining outer and inner, retry-after, reset-after outer and inner
	TTLs    []int64 // the lifetime that each key was given, 0 for none
}

// CallLog runs the log program at a set time; see [Bed.Evaluate] for the
// transaction.
func CallLog(t *testing.T, client *redis.Client, keys []string, nowMicros, windowMicros int64, limits []int64) LogStep {
	t.Helper()
	ctx := context.Background()
	timed := program.WithClock(map[int]program.Program{1: program.SlidingLog, 2: program.SlidingLogDual}[len(keys)], SetClock)
	tx := client.TxPipeline()
	ran := tx.Do(ctx, Command("EVAL", timed.Source, keys, logArgs(nowMicros, windowMicros, limits))...)
	var given []Given
	for _, key := range keys {
		given = append(given, GivenTo(tx, key))
		tx.Persist(ctx, key)
	}
	if _, err := tx.Exec(ctx); err != nil {
		t.Fatalf("run %s: %v", timed.ID(), err)
	}
	values, err := ran.Slice()
	if err != nil || len(values) != timed.ReplyFields {
		t.Fatalf("reply %v: %v", values, err)
	}
	step := LogStep{Status: model.Status(values[0].(string))}
	for _, value := range values[1:] {
		step.Numbers = append(step.Numbers, value.(int64))
	}
	for _, g := range given {
		step.TTLs = append(step.TTLs, g.One(t))
	}
	return step
}

// logArgs are the arguments of the log program behind SetClock.
func logArgs(nowMicros, windowMicros int64, limits []int64) []string {
	argv := []string{Decimal(windowMicros)}
	for _, limit := range limits {
		argv = append(argv, Decimal(limit))
	}
	return append(argv, Decimal(nowMicros))
}

// LogVectors runs each timeline of the logs, of one layer and of two, twice: with keys
// kept for ever, and with keys dropped once their lifetime has passed in it. It answers
// how many steps were taken.
func LogVectors(t *testing.T, client *redis.Client, prefix string) (steps int) {
	for _, vector := range all(t).Logs {
		for name, drops := range map[string]bool{"kept": false, "dropped": true} {
			steps += len(vector.Steps)
			t.Run(vector.Name+"/"+name, func(t *testing.T) {
				runLogVector(t, client, prefix+vector.Name+"/"+name, vector, drops)
			})
		}
	}
	return steps
}

func runLogVector(t *testing.T, client *redis.Client, tenant string, vector vectors.Log, drops bool) {
	expiresAt := map[string]int64{}
	for i, want := range vector.Steps {
		keys := []string{fmt.Sprintf("%s:user:%s", tenant, want.User)}
		if vector.Layers == 2 {
			keys = append([]string{tenant}, keys...)
		}
		for _, key := range keys {
			if at, known := expiresAt[key]; drops && known && want.NowMicros >= at {
				Bed{t, client, key}.Drop()
				delete(expiresAt, key)
			}
		}
		got := CallLog(t, client, keys, want.NowMicros, vector.WindowMicros, want.Limits)
		if got.Status != want.Status || !slices.Equal(got.Numbers, numbersOf(want)) {
			t.Fatalf("step %d:\n got %s %v\nwant %s %v", i, got.Status, got.Numbers, want.Status, numbersOf(want))
		}
		for j, key := range keys {
			if got.TTLs[j] != want.TTLMillis {
				t.Fatalf("step %d: %s gave %s a lifetime of %d ms, want %d", i, got.Status, key, got.TTLs[j], want.TTLMillis)
			}
			if got.Status == model.Allowed {
				expiresAt[key] = want.NowMicros + want.TTLMillis*1000
			}
		}
	}
}

// numbersOf are a step's numbers in the order of the reply.
func numbersOf(want vectors.LogStep) []int64 {
	n := make([]int64, 5)
	copy(n[0:], want.Remaining)
	n[2] = want.RetryAfterMillis
	copy(n[3:], want.ResetAfterMillis)
	return n
}
