package slidinglogtest

import (
	"errors"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// scenario is one timeline.
type scenario struct {
	sentence string
	steps    []step
}

// step is one call and its exact answer. Without an inner key it is a call of one
// layer.
type step struct {
	at         time.Duration // since the clock began
	outer      string
	outerLimit int
	inner      string
	innerLimit int
	want       answer
}

// answer is a verdict, or else an error.
type answer struct {
	verdict slidinglog.Verdict
	err     error
}

func answered(allowed bool, retryAfter time.Duration, layers []slidinglog.Layer) answer {
	v := slidinglog.Verdict{Allowed: allowed, RetryAfter: retryAfter, Outer: layers[0]}
	if len(layers) == 2 {
		v.Inner = layers[1]
	}
	return answer{verdict: v}
}

// is tells whether got is this answer: the same verdict, or an error of the kind,
// and then the zero verdict.
func (a answer) is(got answer) bool {
	return got.verdict == a.verdict && (got.err == nil) == (a.err == nil) && errors.Is(got.err, a.err)
}

func (s scenario) hold(t *testing.T, h Harness, by caller) {
	l, keys := h.New(t, minute), newKeyring()
	for i, step := range s.steps {
		l.SetNow(startMicros + step.at.Microseconds())
		got, want := by(t, l, keys, step)
		if !want.is(got) {
			t.Fatalf("step %d of %d, at %v:\n got %+v\nwant %+v", i+1, len(s.steps), step.at, got, want)
		}
	}
}

// caller makes the call of a step, and says what is wanted of it.
type caller func(t *testing.T, l Limiters, keys keyring, s step) (got, want answer)

func byContext(t *testing.T, l Limiters, keys keyring, s step) (got, want answer) {
	if s.inner == "" {
		got.verdict, got.err = l.Single.AllowContext(t.Context(), keys.key(s.outer), s.outerLimit)
	} else {
		got.verdict, got.err = l.Dual.AllowDualContext(t.Context(), keys.key(s.outer), s.outerLimit, keys.key(s.inner), s.innerLimit)
	}
	return got, s.want
}

// plainly makes the call without a context, which answers without durations.
func plainly(_ *testing.T, l Limiters, keys keyring, s step) (got, want answer) {
	v := &got.verdict
	if s.inner == "" {
		v.Allowed, v.Outer.Remaining, got.err = l.Single.Allow(keys.key(s.outer), s.outerLimit)
	} else {
		v.Allowed, v.Outer.Remaining, v.Inner.Remaining, got.err = l.Dual.AllowDual(keys.key(s.outer), s.outerLimit, keys.key(s.inner), s.innerLimit)
	}
	want = s.want
	want.verdict.RetryAfter, want.verdict.Outer.ResetAfter, want.verdict.Inner.ResetAfter = 0, 0, 0
	return got, want
}
