package program_test

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

// logStep is what one call of the log program answered.
type logStep struct {
	status  model.Status
	numbers []int64 // remaining outer and inner, retry-after, reset-after outer and inner
	ttls    []int64 // PTTL of each key right after
}

// callLog runs the log program at a set time; see testbed.evaluate for the
// transaction.
func callLog(t *testing.T, client *redis.Client, keys []string, nowMicros, windowMicros int64, limits []int64) logStep {
	t.Helper()
	ctx := context.Background()
	timed := program.WithClock(map[int]program.Program{1: program.SlidingLog, 2: program.SlidingLogDual}[len(keys)], setClock)
	args := []any{"EVAL", timed.Source, len(keys)}
	for _, key := range keys {
		args = append(args, key)
	}
	args = append(args, windowMicros)
	for _, limit := range limits {
		args = append(args, limit)
	}
	args = append(args, nowMicros)
	tx := client.TxPipeline()
	ran := tx.Do(ctx, args...)
	var pttls []*redis.Cmd
	for _, key := range keys {
		pttls = append(pttls, tx.Do(ctx, "PTTL", key))
		tx.Persist(ctx, key)
	}
	if _, err := tx.Exec(ctx); err != nil {
		t.Fatalf("run %s: %v", timed.ID(), err)
	}
	values, err := ran.Slice()
	if err != nil || len(values) != timed.ReplyFields {
		t.Fatalf("reply %v: %v", values, err)
	}
	step := logStep{status: model.Status(values[0].(string))}
	for _, value := range values[1:] {
		step.numbers = append(step.numbers, value.(int64))
	}
	for _, pttl := range pttls {
		ttl, err := pttl.Int64()
		if err != nil {
			t.Fatal(err)
		}
		step.ttls = append(step.ttls, lifetime(ttl))
	}
	return step
}

// TestVectors_everyNumberOfTheLogOnEveryServer runs each timeline twice: with keys
// kept for ever, and with keys dropped once their lifetime has passed in it.
func TestVectors_everyNumberOfTheLogOnEveryServer(t *testing.T) {
	set, err := vectors.All()
	if err != nil {
		t.Fatal(err)
	}
	servers(t, func(t *testing.T, client *redis.Client) {
		for _, vector := range set.Logs {
			for name, drops := range map[string]bool{"kept": false, "dropped": true} {
				t.Run(vector.Name+"/"+name, func(t *testing.T) { runLogVector(t, client, vector, drops) })
			}
		}
	})
}

func runLogVector(t *testing.T, client *redis.Client, vector vectors.Log, drops bool) {
	expiresAt := map[string]int64{}
	for i, want := range vector.Steps {
		keys := []string{fmt.Sprintf("%s:user:%s", t.Name(), want.User)}
		if vector.Layers == 2 {
			keys = append([]string{t.Name()}, keys...)
		}
		for _, key := range keys {
			if at, known := expiresAt[key]; drops && known && want.NowMicros >= at {
				testbed{t, client, key}.drop()
				delete(expiresAt, key)
			}
		}
		got := callLog(t, client, keys, want.NowMicros, vector.WindowMicros, want.Limits)
		if got.status != want.Status || !slices.Equal(got.numbers, numbersOf(want)) {
			t.Fatalf("step %d:\n got %s %v\nwant %s %v", i, got.status, got.numbers, want.Status, numbersOf(want))
		}
		for j, key := range keys {
			if got.status != model.Allowed {
				if got.ttls[j] >= 0 {
					t.Fatalf("step %d: %s set an expiry of %d ms", i, got.status, got.ttls[j])
				}
				continue
			}
			if got.ttls[j] > want.TTLMillis || got.ttls[j] <= want.TTLMillis-ttlSlackMillis {
				t.Fatalf("step %d: expiry %d ms, want %d", i, got.ttls[j], want.TTLMillis)
			}
			expiresAt[key] = want.NowMicros + want.TTLMillis*1000
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
