package load_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/bench/internal/contender"
	"github.com/edgelimit/edgelimit/bench/internal/load"
)

// scripted answers by a function of the subject.
type scripted func(subject int) (bool, error)

func (s scripted) Caller(context.Context) contender.Decide { return contender.Decide(s) }
func (scripted) Close() error                              { return nil }

func TestRun_countsAnswersOfAnotherPathAsFailed(t *testing.T) {
	broken := errors.New("broken")
	rows := []struct {
		says   string
		path   contender.Path
		answer scripted
		fails  bool
	}{
		{"allowed, as the path says", contender.Allowed, func(int) (bool, error) { return true, nil }, false},
		{"denied where the path allows", contender.Allowed, func(int) (bool, error) { return false, nil }, true},
		{"denied, as the path says", contender.Denied, func(int) (bool, error) { return false, nil }, false},
		{"allowed where the path denies", contender.Denied, func(int) (bool, error) { return true, nil }, true},
		{"either on the mixed path", contender.Mixed, func(n int) (bool, error) { return n%2 == 0, nil }, false},
		{"an error", contender.Denied, func(int) (bool, error) { return false, broken }, true},
	}
	for _, row := range rows {
		t.Run(row.says, func(t *testing.T) {
			l := load.Load{Callers: 3, Subjects: 10, Length: 5 * time.Millisecond, Path: row.path}
			s := l.Run(t.Context(), row.answer)
			if s.Decisions == 0 || s.Took < l.Length {
				t.Fatalf("%d decisions in %v, want some in %v", s.Decisions, s.Took, l.Length)
			}
			if got := s.Failed == s.Decisions; got != row.fails || (s.Failure != nil) != row.fails {
				t.Errorf("%d of %d failed, by %v; want failure %v", s.Failed, s.Decisions, s.Failure, row.fails)
			}
		})
	}
}

func TestTouch_asksOnceForEverySubject(t *testing.T) {
	asked := make([]atomic.Int32, 100)
	err := load.Touch(t.Context(), scripted(func(n int) (bool, error) { asked[n].Add(1); return false, nil }), len(asked), 7)
	if err != nil {
		t.Fatal(err)
	}
	for n := range asked {
		if got := asked[n].Load(); got != 1 {
			t.Errorf("subject %d was asked for %d times, want once", n, got)
		}
	}
}

// TestTouch_asksAgainForWhatWasRefused has the first asking of each subject refused, and then a
// subject who is refused whatever he does.
func TestTouch_asksAgainForWhatWasRefused(t *testing.T) {
	asked := make([]atomic.Int32, 10)
	refused := errors.New("refused")
	once := scripted(func(n int) (bool, error) {
		if asked[n].Add(1) == 1 {
			return false, refused
		}
		return false, nil
	})
	if err := load.Touch(t.Context(), once, len(asked), 3); err != nil {
		t.Fatal(err)
	}
	for n := range asked {
		if got := asked[n].Load(); got != 2 {
			t.Errorf("subject %d was asked for %d times, want twice", n, got)
		}
	}
	if err := load.Touch(t.Context(), scripted(func(int) (bool, error) { return false, refused }), 1, 1); !errors.Is(err, refused) {
		t.Errorf("error %v of one who is always refused, want %v", err, refused)
	}
}

// TestRun_countsTheAllocationsOfDecisionsAlone has callers who allocate once a
// decision: what they themselves are made of is not in the figure.
func TestRun_countsTheAllocationsOfDecisionsAlone(t *testing.T) {
	var kept atomic.Pointer[[64]byte]
	once := scripted(func(int) (bool, error) { kept.Store(new([64]byte)); return true, nil })
	l := load.Load{Callers: 256, Subjects: 10, Length: 20 * time.Millisecond, Path: contender.Allowed}
	s := l.Run(t.Context(), once)
	if got := float64(s.Allocs) / float64(s.Decisions); got < 1 || got > 1.05 {
		t.Errorf("%v allocations a decision, want 1", got)
	}
	none := scripted(func(int) (bool, error) { return true, nil })
	if s := l.Run(t.Context(), none); s.Allocs > uint64(l.Callers) {
		t.Errorf("%d allocations by %d callers who make none, want hardly any", s.Allocs, l.Callers)
	}
}
