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
	broken := errors.New("broken")
	if err := load.Touch(t.Context(), scripted(func(int) (bool, error) { return false, broken }), 10, 2); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}
