package slidinglogtest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog/slidinglogtest"
)

// brokenEnv names the fault with which the test binary runs the suite in place of
// its tests, as the child of a test that wants to see the suite fail.
const brokenEnv = "SLIDINGLOGTEST_BROKEN"

func TestMain(m *testing.M) {
	if fault := os.Getenv(brokenEnv); fault != "" {
		every := func(string, string) (bool, error) { return true, nil }
		testing.Main(every, []testing.InternalTest{{Name: "Broken", F: func(t *testing.T) {
			slidinglogtest.Run(t, slidinglogtest.Harness{New: func(t *testing.T, window time.Duration) slidinglogtest.Limiters {
				l := newMemory(t, window)
				b := broken{l.Single.(*memory), faults[fault]}
				l.Single, l.Dual = b, b
				return l
			}})
		}}}, nil, nil)
	}
	os.Exit(m.Run())
}

// broken is a memory with one fault in its calls of two layers.
type broken struct {
	*memory
	dual func(m *memory, outerKey string, outerLimit int, innerKey string, innerLimit int) (slidinglog.Verdict, error)
}

func (b broken) AllowDualContext(_ context.Context, outerKey string, outerLimit int, innerKey string, innerLimit int) (slidinglog.Verdict, error) {
	return b.dual(b.memory, outerKey, outerLimit, innerKey, innerLimit)
}

var faults = map[string]func(m *memory, outerKey string, outerLimit int, innerKey string, innerLimit int) (slidinglog.Verdict, error){
	"two calls, one after the other": func(m *memory, outerKey string, outerLimit int, innerKey string, innerLimit int) (slidinglog.Verdict, error) {
		if err := slidinglog.CheckDual(outerKey, outerLimit, innerKey, innerLimit); err != nil {
			return slidinglog.Verdict{}, err
		}
		outer, err := m.AllowContext(context.Background(), outerKey, outerLimit)
		if err != nil || !outer.Allowed {
			return outer, err
		}
		inner, err := m.AllowContext(context.Background(), innerKey, innerLimit)
		inner.Outer, inner.Inner = outer.Outer, inner.Outer
		return inner, err
	},
	"keys that are not checked": func(m *memory, outerKey string, outerLimit int, innerKey string, innerLimit int) (slidinglog.Verdict, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		return slidinglog.AllowDual(m.window, m.now, m.at(outerKey), outerLimit, m.at(innerKey), innerLimit)
	},
	"a retry-after that is the window": func(m *memory, outerKey string, outerLimit int, innerKey string, innerLimit int) (slidinglog.Verdict, error) {
		v, err := m.AllowDualContext(context.Background(), outerKey, outerLimit, innerKey, innerLimit)
		if err == nil && !v.Allowed {
			v.RetryAfter = m.window
		}
		return v, err
	},
	"a failure that allows": func(m *memory, outerKey string, outerLimit int, innerKey string, innerLimit int) (slidinglog.Verdict, error) {
		v, err := m.AllowDualContext(context.Background(), outerKey, outerLimit, innerKey, innerLimit)
		v.Allowed = v.Allowed || err != nil
		return v, err
	},
	"an outage that denies": func(m *memory, outerKey string, outerLimit int, innerKey string, innerLimit int) (slidinglog.Verdict, error) {
		v, err := m.AllowDualContext(context.Background(), outerKey, outerLimit, innerKey, innerLimit)
		if errors.Is(err, slidinglog.ErrUnavailable) {
			err = nil
		}
		return v, err
	},
	"an outage with numbers beside its error": func(m *memory, outerKey string, outerLimit int, innerKey string, innerLimit int) (slidinglog.Verdict, error) {
		v, err := m.AllowDualContext(context.Background(), outerKey, outerLimit, innerKey, innerLimit)
		if errors.Is(err, slidinglog.ErrUnavailable) {
			v.Outer.Remaining = outerLimit
		}
		return v, err
	},
	"an outage that counts what it calls unavailable": func(m *memory, outerKey string, outerLimit int, innerKey string, innerLimit int) (slidinglog.Verdict, error) {
		v, err := m.AllowDualContext(context.Background(), outerKey, outerLimit, innerKey, innerLimit)
		if errors.Is(err, slidinglog.ErrUnavailable) {
			_, _ = slidinglog.AllowDual(m.window, m.now, m.at(outerKey), outerLimit, m.at(innerKey), innerLimit)
		}
		return v, err
	},
	"an outage in which what was counted is lost": func(m *memory, outerKey string, outerLimit int, innerKey string, innerLimit int) (slidinglog.Verdict, error) {
		v, err := m.AllowDualContext(context.Background(), outerKey, outerLimit, innerKey, innerLimit)
		if errors.Is(err, slidinglog.ErrUnavailable) {
			m.drop(outerKey, innerKey)
		}
		return v, err
	},
}

func TestRun_noticesEachFault(t *testing.T) {
	for fault := range faults {
		t.Run(fault, func(t *testing.T) {
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), brokenEnv+"="+fault)
			printed, err := child.CombinedOutput()
			if child.ProcessState == nil {
				t.Fatalf("run the suite in a process of its own: %v", err)
			}
			if err == nil {
				t.Errorf("the suite passed:\n%s", printed)
			}
		})
	}
}
