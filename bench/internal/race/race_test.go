package race_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/bench/internal/contender"
	"github.com/edgelimit/edgelimit/bench/internal/race"
	"github.com/edgelimit/edgelimit/bench/internal/server"
)

func TestMedian_isTheMiddle(t *testing.T) {
	rows := []struct {
		says   string
		values []float64
		want   float64
	}{
		{"of none, 0", nil, 0},
		{"of one, that", []float64{3}, 3},
		{"of an odd number, the middle one", []float64{9, 1, 5}, 5},
		{"of an even number, the mean of the middle two", []float64{9, 1, 5, 3}, 4},
	}
	for _, row := range rows {
		if got := race.Median(row.values); got != row.want {
			t.Errorf("%s: got %v, want %v", row.says, got, row.want)
		}
	}
}

// TestRace_readsWhatRedisDid knows what the floor does: one command, which runs four
// more, in one trip.
func TestRace_readsWhatRedisDid(t *testing.T) {
	s, err := server.Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	entry, err := race.Enter(t.Context(), s, contender.Floors()[0], contender.Names(10))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = entry.Close() }()
	r := race.Race{Callers: 2, Subjects: 10, Rounds: 3, Slice: 100 * time.Millisecond}
	results, err := r.Run(t.Context(), s, []race.Entry{entry})
	if err != nil {
		t.Fatal(err)
	}
	got := results[0]
	if got.Name != contender.Floor || got.Path != contender.Allowed || got.Wrong != 0 {
		t.Errorf("result %+v, want the floor's, and nothing wrong", got)
	}
	f := got.Figures
	if f.Commands < 5 || f.Commands > 5.5 || f.Trips < 1 || f.Trips > 1.5 {
		t.Errorf("%v commands in %v trips, want 5 in 1", f.Commands, f.Trips)
	}
	if f.Given <= 0 || f.Scripts <= f.Given {
		t.Errorf("scripts took %v µs, their commands %v; want more, and more than nothing", f.Scripts, f.Given)
	}
	if f.PerSecond <= 0 || f.P50 <= 0 || f.P99 < f.P50 || f.CPU <= 0 || f.Allocs < 1 {
		t.Errorf("figures %+v, want all above 0 and p99 no less than p50", f)
	}
}

// halfRight allows every even subject and fails for the others.
type halfRight struct{}

func (halfRight) Caller(context.Context) contender.Decide {
	return func(subject int) (bool, error) {
		if subject%2 == 1 {
			return false, errors.New("odd")
		}
		return true, nil
	}
}

func (halfRight) Close() error { return nil }

// TestRace_wrongAnswersAreNoDecisionsPerSecond enters with one subject, an even one,
// and races over two.
func TestRace_wrongAnswersAreNoDecisionsPerSecond(t *testing.T) {
	s, err := server.Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	half := contender.Contender{Name: "half", Path: contender.Allowed, Open: func(string, []string) (contender.Limiter, error) { return halfRight{}, nil }}
	entry, err := race.Enter(t.Context(), s, half, contender.Names(1))
	if err != nil {
		t.Fatal(err)
	}
	r := race.Race{Callers: 4, Subjects: 2, Rounds: 1, Slice: 100 * time.Millisecond}
	results, err := r.Run(t.Context(), s, []race.Entry{entry})
	if err != nil {
		t.Fatal(err)
	}
	got := results[0]
	if got.Wrong == 0 || got.Wrong >= got.Decisions || !got.Void() {
		t.Fatalf("%d of %d wrong, void %v; want about half, and void", got.Wrong, got.Decisions, got.Void())
	}
	if most := float64(got.Decisions-got.Wrong) / r.Slice.Seconds(); got.Figures.PerSecond > most {
		t.Errorf("%v decisions/s, want at most %v, those that were right", got.Figures.PerSecond, most)
	}
}
