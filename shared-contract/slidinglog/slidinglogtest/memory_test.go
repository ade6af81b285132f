package slidinglogtest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog/slidinglogtest"
)

// memory is the model behind one lock.
type memory struct {
	window time.Duration

	mu   sync.Mutex
	now  int64
	gone bool
	logs map[string]*slidinglog.Log
}

func newMemory(_ *testing.T, window time.Duration) slidinglogtest.Limiters {
	m := &memory{window: window, logs: map[string]*slidinglog.Log{}}
	return slidinglogtest.Limiters{Single: m, Dual: m, SetNow: m.setNow, Drop: m.drop, Lose: m.lose}
}

func (m *memory) setNow(nowMicros int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = nowMicros
}

func (m *memory) drop(keys ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		delete(m.logs, key)
	}
}

// lose makes m like a store that cannot be reached.
func (m *memory) lose() (restore func()) {
	m.setGone(true)
	return func() { m.setGone(false) }
}

func (m *memory) setGone(gone bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone = gone
}

func (m *memory) at(key string) *slidinglog.Log {
	if m.logs[key] == nil {
		m.logs[key] = &slidinglog.Log{}
	}
	return m.logs[key]
}

func (m *memory) AllowContext(_ context.Context, key string, limit int) (slidinglog.Verdict, error) {
	if err := slidinglog.Check(key, limit); err != nil {
		return slidinglog.Verdict{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone {
		return slidinglog.Verdict{}, slidinglog.ErrUnavailable
	}
	return slidinglog.Allow(m.window, m.now, m.at(key), limit)
}

func (m *memory) AllowDualContext(_ context.Context, outerKey string, outerLimit int, innerKey string, innerLimit int) (slidinglog.Verdict, error) {
	if err := slidinglog.CheckDual(outerKey, outerLimit, innerKey, innerLimit); err != nil {
		return slidinglog.Verdict{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone {
		return slidinglog.Verdict{}, slidinglog.ErrUnavailable
	}
	return slidinglog.AllowDual(m.window, m.now, m.at(outerKey), outerLimit, m.at(innerKey), innerLimit)
}

func (m *memory) Allow(key string, limit int) (bool, int, error) {
	v, err := m.AllowContext(context.Background(), key, limit)
	return v.Allowed, v.Outer.Remaining, err
}

func (m *memory) AllowDual(outerKey string, outerLimit int, innerKey string, innerLimit int) (bool, int, int, error) {
	v, err := m.AllowDualContext(context.Background(), outerKey, outerLimit, innerKey, innerLimit)
	return v.Allowed, v.Outer.Remaining, v.Inner.Remaining, err
}

func TestRun_theModelHolds(t *testing.T) {
	slidinglogtest.Run(t, slidinglogtest.Harness{New: newMemory})
}

func TestRunVectors_theModelHolds(t *testing.T) {
	slidinglogtest.RunVectors(t, slidinglogtest.Harness{New: newMemory})
}

func TestWalk_theModelHolds(t *testing.T) {
	for seed := range uint64(4) {
		coverage := slidinglogtest.Walk(t, slidinglogtest.Harness{New: newMemory}, seed, 15_000)
		t.Logf("seed %d:\n%s", seed, coverage.Report())
		if err := coverage.Check(500); err != nil {
			t.Error(err)
		}
	}
}
