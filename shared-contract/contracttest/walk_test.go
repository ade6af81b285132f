package contracttest_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/shared-contract/contracttest"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

var algorithms = []ratelimit.AlgorithmName{
	ratelimit.NameFixedWindow, ratelimit.NameSlidingWindowCounter, ratelimit.NameTokenBucket,
}

func TestWalk_oneSeedIsOneWalk(t *testing.T) {
	for _, algorithm := range algorithms {
		one, same, other := contracttest.NewWalk(7, algorithm), contracttest.NewWalk(7, algorithm), contracttest.NewWalk(8, algorithm)
		for range 20 {
			a, b, c := one.Next(50), same.Next(50), other.Next(50)
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("%s: the same seed walked elsewhere", algorithm)
			}
			if reflect.DeepEqual(a.Steps, c.Steps) {
				t.Fatalf("%s: another seed walked alike", algorithm)
			}
		}
	}
}

func TestWalk_staysWithinWhatAServerCanSay(t *testing.T) {
	for _, algorithm := range algorithms {
		walk, back := contracttest.NewWalk(1, algorithm), 0
		for range 100 {
			timeline := walk.Next(100)
			if timeline.Policy.Algorithm().Name() != algorithm || len(timeline.Steps) != 100 || timeline.Policy.MaxCost() != timeline.Policy.Limit() {
				t.Fatalf("got %d steps by %+v", len(timeline.Steps), timeline.Policy)
			}
			last := int64(0)
			for _, step := range timeline.Steps {
				if step.NowMillis < 0 || step.NowMillis+3*ratelimit.MaxSpan.Milliseconds() > ratelimit.MaxSafeInteger {
					t.Fatalf("the clock said %d", step.NowMillis)
				}
				if step.NowMillis < last {
					back++
				}
				last = step.NowMillis
			}
		}
		if back < 500 {
			t.Errorf("%s: the clock stepped back %d times of 10000, want at least 500", algorithm, back)
		}
	}
}

func TestNewWalk_refusesWhatIsNoAlgorithm(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("got a walk")
		}
	}()
	contracttest.NewWalk(1, "leaky-bucket")
}

func TestCoverage_saysWhatIsMissing(t *testing.T) {
	p := samplePolicy(t)
	window := int64(60_000)
	var c contracttest.Coverage
	c.Count(p, model.State{}, model.Reply{Status: model.Allowed, ServerNowMillis: window, EffectiveNowMillis: window})
	c.Count(p, model.State{Exists: true, ObservedMillis: window + 5},
		model.Reply{Status: model.Denied, ServerNowMillis: window, EffectiveNowMillis: window + 5, RetryAfterMillis: window})
	c.Count(p, model.State{Exists: true, ObservedMillis: window},
		model.Reply{Status: model.Denied, ServerNowMillis: window, EffectiveNowMillis: window, RetryAfterMillis: window + 1})
	c.Count(p, model.State{}, model.Reply{Status: model.Invalid})

	err := c.Check(1)
	if err == nil {
		t.Fatal("got no error, want one")
	}
	want := "CLOCK_UNSAFE: 0 times, want at least 1\n" +
		"STATE_INCOMPATIBLE: 0 times, want at least 1\n" +
		"0 of 1 policies at their bounds, want one in five"
	if err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	for _, line := range []string{"4 steps", "1 policies, 0 at their bounds", "2 DENIED", "1 INVALID",
		"1 decided by a clock that had stepped back",
		"1 retry when the previous window has decayed", "1 retry when the current window has become the previous one"} {
		if !strings.Contains(c.Report(), line+"\n") {
			t.Errorf("no line %q in\n%s", line, c.Report())
		}
	}
}

func TestCoverage_demandsBothRetriesOfACounterOnly(t *testing.T) {
	for _, algorithm := range algorithms {
		var c contracttest.Coverage
		p := contracttest.NewWalk(1, algorithm).Next(0).Policy // at its bounds
		for _, status := range []model.Status{model.Allowed, model.ClockUnsafe, model.StateIncompatible, model.Invalid} {
			c.Count(p, model.State{Exists: true, ObservedMillis: 1}, model.Reply{Status: status})
		}
		c.Count(p, model.State{}, model.Reply{Status: model.Denied, RetryAfterMillis: 1})
		err := c.Check(1)
		if counter := algorithm == ratelimit.NameSlidingWindowCounter; (err != nil) != counter {
			t.Errorf("%s: got %v", algorithm, err)
		}
	}
}
