package promises_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

func keptStates(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	single := programtest.KeepsStates(t, s.client, s.key(""))
	batch := programtest.BatchKeepsStates(t, s.client, s.key(""))
	logs := programtest.LogKeepsLogs(t, s.client, s.key("log "))
	evidence.Record(t, "denials and unsafe clocks that left every byte and the expiry",
		"%d by single programs, %d by the batch, %d by the log", single, batch, logs)
}

// What was observed further ahead than the policy clamps, on the server's own clock.
func unsafeForTheProvider(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	policies := s.named(programtest.Ordinary(t))
	r := s.open(with(policies))
	for _, p := range policies {
		for _, ahead := range []time.Duration{time.Minute, 24 * time.Hour, 365 * 24 * time.Hour} {
			subject := rig.Subject()
			key := r.StateKey(p.ID(), subject)
			programtest.Plant(t, s.client, key, programtest.UsedFields(p, s.nowMicros()/1000+ahead.Milliseconds())...)
			s.client.PExpire(context.Background(), key, time.Hour)
			before := programtest.Content(t, s.client, key)
			if got := rig.Say(r.Evaluate(p.ID(), subject, 1)); got != "unavailable CLOCK" {
				t.Errorf("%s, %v ahead: got %s, want unavailable CLOCK", p.ID(), ahead, got)
			}
			if after := programtest.Content(t, s.client, key); after != before {
				t.Errorf("%s, %v ahead: the key became %s, was %s", p.ID(), ahead, after, before)
			}
		}
	}
}

func unsafeForTheLimiters(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	const window = time.Minute
	limiter := s.limiter(window)
	ahead, behind := s.key("rl:{clock}:user:ahead"), s.key("rl:{clock}")
	programtest.PlantLog(t, s.client, ahead, s.nowMicros()+10*window.Microseconds())
	programtest.PlantLog(t, s.client, behind, s.nowMicros())
	before := programtest.Content(t, s.client, ahead) + programtest.Content(t, s.client, behind)
	_, alone := limiter.AllowContext(t.Context(), ahead, 5)
	_, inner := limiter.Dual().AllowDualContext(t.Context(), behind, 5, ahead, 5)
	_, outer := limiter.Dual().AllowDualContext(t.Context(), ahead, 5, behind, 5)
	for form, err := range map[string]error{"alone": alone, "inner": inner, "outer": outer} {
		if !errors.Is(err, slidinglog.ErrClockUnsafe) {
			t.Errorf("%s: got %v, want %v", form, err, slidinglog.ErrClockUnsafe)
		}
	}
	if after := programtest.Content(t, s.client, ahead) + programtest.Content(t, s.client, behind); after != before {
		t.Errorf("the logs became %s, were %s", after, before)
	}
}
