package slidinglogtest

import (
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
	"github.com/edgelimit/edgelimit/shared-contract/vectors"
)

// RunVectors holds an implementation against every number in the vectors of the
// log: with logs that are kept, and, if the harness can drop them, with logs that
// are dropped if a call finds that their expiry has passed in the timeline. The
// expiry that an implementation sets is not looked at. A test that calls it should have Vector in its name.
func RunVectors(t *testing.T, h Harness) {
	set, err := vectors.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, vector := range set.Logs {
		t.Run(vector.Name+"/kept", func(t *testing.T) { runVector(t, h, vector, false) })
		t.Run(vector.Name+"/dropped", func(t *testing.T) { runVector(t, h, vector, true) })
	}
}

func runVector(t *testing.T, h Harness, vector vectors.Log, drops bool) {
	l, keys := h.New(t, time.Duration(vector.WindowMicros)*micro), newKeyring()
	if drops && l.Drop == nil {
		return
	}
	expiresAt := map[string]int64{}
	for i, expected := range vector.Steps {
		s := stepOf(vector, expected)
		for _, key := range []string{s.outer, s.inner} {
			if at, written := expiresAt[key]; drops && written && expected.NowMicros >= at {
				l.Drop(keys.key(key))
				delete(expiresAt, key)
			}
		}
		l.SetNow(expected.NowMicros)
		got, want := byContext(t, l, keys, s)
		if !want.is(got) {
			t.Fatalf("step %d of %d:\n got %+v\nwant %+v", i+1, len(vector.Steps), got, want)
		}
		if got.verdict.Allowed {
			expiresAt[s.outer] = expected.NowMicros + expected.TTLMillis*1000
			if s.inner != "" {
				expiresAt[s.inner] = expiresAt[s.outer]
			}
		}
	}
}

// stepOf reads a vector's step; its time is the vector's own.
func stepOf(vector vectors.Log, from vectors.LogStep) step {
	s := step{outer: tenant + ":user:" + from.User, outerLimit: int(from.Limits[0])}
	if vector.Layers == 2 {
		s.inner, s.innerLimit = s.outer, int(from.Limits[1])
		s.outer = tenant
	}
	if from.Status == model.ClockUnsafe {
		s.want = unsafe
		return s
	}
	var layers []slidinglog.Layer
	for i, remaining := range from.Remaining {
		layers = append(layers, left(int(remaining), time.Duration(from.ResetAfterMillis[i])*time.Millisecond))
	}
	s.want = answered(from.Status == model.Allowed, time.Duration(from.RetryAfterMillis)*time.Millisecond, layers)
	return s
}
