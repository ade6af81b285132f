package promises_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

func refusedStates(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	single := programtest.RefusesStates(t, s.client, s.key(""))
	batch := programtest.BatchRefusesStates(t, s.client, s.key(""))
	logs := programtest.LogRefusesKeys(t, s.client, s.key("log "))
	evidence.Record(t, "states that are not ours: refused and left byte for byte",
		"%d by single programs, %d by the batch, %d by the log", single, batch, logs)
}

func incompatibleForTheProvider(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	policies := s.named(programtest.Ordinary(t))
	r, states := s.open(with(policies)), 0
	for _, p := range policies {
		for _, state := range programtest.IncompatibleStates(p) {
			states++
			subject := rig.Subject()
			key := r.StateKey(p.ID(), subject)
			state.Plant(t, s.client, key)
			s.client.PExpire(context.Background(), key, time.Hour)
			before := programtest.Content(t, s.client, key)
			if got := rig.Say(r.Evaluate(p.ID(), subject, 1)); got != "incompatible STATE" {
				t.Errorf("%s, %s: got %s, want incompatible STATE", p.ID(), state.Sentence, got)
			}
			if after := programtest.Content(t, s.client, key); after != before {
				t.Errorf("%s, %s: the key became %.200s, was %.200s", p.ID(), state.Sentence, after, before)
			}
		}
	}
	evidence.Record(t, "states that are not ours: Incompatible STATE by the provider", "%d", states)
}

func incompatibleForTheLimiters(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	limiter, calls := s.limiter(time.Hour), 0
	for i, foreign := range programtest.ForeignLogs() {
		bad, good := s.key(fmt.Sprintf("rl:{%d}:user:bad", i)), s.key(fmt.Sprintf("rl:{%d}", i))
		foreign.Plant(t, s.client, bad)
		s.client.PExpire(context.Background(), bad, time.Hour)
		programtest.PlantLog(t, s.client, good, s.nowMicros())
		before := programtest.Content(t, s.client, bad) + programtest.Content(t, s.client, good)
		_, alone := limiter.AllowContext(t.Context(), bad, 5)
		_, inner := limiter.Dual().AllowDualContext(t.Context(), good, 5, bad, 5)
		_, outer := limiter.Dual().AllowDualContext(t.Context(), bad, 5, good, 5)
		for form, err := range map[string]error{"alone": alone, "inner": inner, "outer": outer} {
			if calls++; !errors.Is(err, slidinglog.ErrIncompatible) {
				t.Errorf("%s, %s: got %v, want %v", foreign.Sentence, form, err, slidinglog.ErrIncompatible)
			}
		}
		if after := programtest.Content(t, s.client, bad) + programtest.Content(t, s.client, good); after != before {
			t.Errorf("%s: the keys became %.200s, were %.200s", foreign.Sentence, after, before)
		}
	}
	evidence.Record(t, "calls of the limiters on keys that are no logs", "%d", calls)
}
