package slidinglog_test

import (
	"errors"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
	"github.com/edgelimit/edgelimit/shared-contract/vectors"
)

// TestVectors_everyNumber runs each timeline twice: with logs kept for ever, and
// with logs dropped once their lifetime has passed in the timeline.
func TestVectors_everyNumber(t *testing.T) {
	set, err := vectors.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, vector := range set.Logs {
		for name, drops := range map[string]bool{"kept": false, "dropped": true} {
			t.Run(vector.Name+"/"+name, func(t *testing.T) { runVector(t, vector, drops) })
		}
	}
}

// keyed is the logs of one timeline, with the expiry of each in microseconds.
type keyed struct {
	logs      map[string]*slidinglog.Log
	expiresAt map[string]int64
	drops     bool
}

func (k keyed) at(key string, now int64) *slidinglog.Log {
	if at, ok := k.expiresAt[key]; k.drops && ok && now >= at {
		delete(k.logs, key)
		delete(k.expiresAt, key)
	}
	if k.logs[key] == nil {
		k.logs[key] = &slidinglog.Log{}
	}
	return k.logs[key]
}

func runVector(t *testing.T, vector vectors.Log, drops bool) {
	k := keyed{map[string]*slidinglog.Log{}, map[string]int64{}, drops}
	window := time.Duration(vector.WindowMicros) * time.Microsecond
	for i, step := range vector.Steps {
		keys := []string{"user:" + step.User}
		if vector.Layers == 2 {
			keys = []string{"tenant", "user:" + step.User}
		}
		verdict, err := k.call(window, step, keys)
		if step.Status == model.ClockUnsafe {
			if !errors.Is(err, slidinglog.ErrClockUnsafe) {
				t.Fatalf("step %d: got %+v, %v, want ErrClockUnsafe", i, verdict, err)
			}
			continue
		}
		if want := expected(step); err != nil || verdict != want {
			t.Fatalf("step %d:\n got %+v, %v\nwant %+v", i, verdict, err, want)
		}
		if verdict.Allowed {
			for _, key := range keys {
				k.expiresAt[key] = step.NowMicros + step.TTLMillis*1000
			}
		}
	}
}

func (k keyed) call(window time.Duration, step vectors.LogStep, keys []string) (slidinglog.Verdict, error) {
	outer := k.at(keys[0], step.NowMicros)
	if len(keys) == 1 {
		return slidinglog.Allow(window, step.NowMicros, outer, int(step.Limits[0]))
	}
	return slidinglog.AllowDual(window, step.NowMicros, outer, int(step.Limits[0]), k.at(keys[1], step.NowMicros), int(step.Limits[1]))
}

func expected(step vectors.LogStep) slidinglog.Verdict {
	millis := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	v := slidinglog.Verdict{
		Allowed:    step.Status == model.Allowed,
		RetryAfter: millis(step.RetryAfterMillis),
		Outer:      slidinglog.Layer{Remaining: int(step.Remaining[0]), ResetAfter: millis(step.ResetAfterMillis[0])},
	}
	if len(step.Remaining) == 2 {
		v.Inner = slidinglog.Layer{Remaining: int(step.Remaining[1]), ResetAfter: millis(step.ResetAfterMillis[1])}
	}
	return v
}
