package programtest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// RefusesStates demands that each program refuses each of IncompatibleStates and leaves
// it alone. It answers how many there were.
func RefusesStates(t *testing.T, client *redis.Client, prefix string) (states int) {
	for _, p := range Ordinary(t) {
		timed := program.WithClock(program.For(p.Algorithm()), SetClock)
		argv := append(program.PolicyArgs(p), "1", Decimal(StateNowMillis))
		want := Blank(model.StateIncompatible)
		for i, state := range IncompatibleStates(p) {
			states++
			key := fmt.Sprintf("%s%s %d", prefix, p.Algorithm().Name(), i)
			state.Plant(t, client, key)
			client.PExpire(context.Background(), key, time.Hour)
			before := Content(t, client, key)
			if got := Text(Eval(t, client, timed, []string{key}, argv...)); got != want {
				t.Errorf("%s, %s:\n got %s\nwant %s", timed.Name, state.Sentence, got, want)
			}
			if after := Content(t, client, key); after != before {
				t.Errorf("%s, %s: the key became %.200s, was %.200s", timed.Name, state.Sentence, after, before)
			}
		}
	}
	return states
}

// Admitted is the decision on the first unit of a fresh key at StateNowMillis, as
// EvalBatch shows it.
func Admitted(p ratelimit.Policy) string {
	r, _, _ := model.New(p).Step(model.State{}, StateNowMillis, 1)
	return Line(r)
}

// BatchRefusesStates demands that the batch refuses each of IncompatibleStates by
// itself: it is left as it is, and those before and after it are decided. It answers
// how many there were.
func BatchRefusesStates(t *testing.T, client *redis.Client, prefix string) (states int) {
	for _, p := range Ordinary(t) {
		want := []string{Admitted(p), Blank(model.StateIncompatible), Admitted(p)}
		for i, state := range IncompatibleStates(p) {
			states++
			name := fmt.Sprintf("%sbatch %s %d", prefix, p.Algorithm().Name(), i)
			keys := []string{name + " before", name, name + " after"}
			state.Plant(t, client, name)
			client.PExpire(context.Background(), name, time.Hour)
			before := Content(t, client, name)
			got := EvalBatch(t, client, TimedBatch, keys, append(BatchArgs(p, "1", "1", "1"), Decimal(StateNowMillis))...)
			if !slices.Equal(got, want) {
				t.Errorf("%s, %s:\n got %q\nwant %q", p.Algorithm().Name(), state.Sentence, got, want)
			}
			if after := Content(t, client, name); after != before {
				t.Errorf("%s, %s: the key became %.200s, was %.200s", p.Algorithm().Name(), state.Sentence, after, before)
			}
		}
	}
	return states
}
