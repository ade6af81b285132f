package footprint_test

import (
	"slices"
	"testing"

	"github.com/edgelimit/edgelimit/bench/internal/contender"
	"github.com/edgelimit/edgelimit/bench/internal/footprint"
	"github.com/edgelimit/edgelimit/bench/internal/server"
)

func TestState_otherWaysToKeepIt(t *testing.T) {
	state := footprint.State{Key: "k", Hash: []string{"schema", "1/a/1", "observed", "12", "tokens", "9"}}
	if got, want := state.Renamed().Hash, []string{"s", "1/a/1", "o", "12", "t", "9"}; !slices.Equal(got, want) {
		t.Errorf("renamed: got %q, want %q", got, want)
	}
	if got, want := state.Without("schema").Hash, []string{"observed", "12", "tokens", "9"}; !slices.Equal(got, want) {
		t.Errorf("without a field: got %q, want %q", got, want)
	}
	if got, want := state.Packed().Text, "1/a/1 12 9"; got != want {
		t.Errorf("packed: got %q, want %q", got, want)
	}
	if state.Hash[0] != "schema" || len(state.Hash) != 6 {
		t.Errorf("the state itself became %q", state.Hash)
	}
}

// TestMeasureKind_isWhatTheContenderTakes keeps what a contender kept, by the same
// keys' length: the same memory, so the other kinds can be told from it.
func TestMeasureKind_isWhatTheContenderTakes(t *testing.T) {
	s, err := server.Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	const subjects = 5000
	bucket := contender.Edgelimit(contender.Mixed)[2]
	for _, c := range []contender.Contender{bucket, contender.NewRedisRate(contender.Mixed)} {
		prints, err := footprint.Measure(t.Context(), s, []contender.Contender{c}, subjects)
		if err != nil {
			t.Fatal(err)
		}
		state, err := footprint.StateOf(t.Context(), s, c)
		if err != nil {
			t.Fatal(err)
		}
		kind, err := footprint.MeasureKind(t.Context(), s, c.Name, state, footprint.Mortal, len(state.Key), subjects)
		if err != nil {
			t.Fatal(err)
		}
		if difference := kind.Bytes - prints[0].Bytes; difference < -8 || difference > 8 {
			t.Errorf("%s takes %.0f bytes, its state alone %.0f", c.Name, prints[0].Bytes, kind.Bytes)
		}
		endless, err := footprint.MeasureKind(t.Context(), s, c.Name, state, footprint.Forever, len(state.Key), subjects)
		if err != nil {
			t.Fatal(err)
		}
		if endless.Bytes > kind.Bytes-24 || kind.Usage < int64(len(state.Key)) || float64(kind.Usage) > kind.Bytes {
			t.Errorf("%s: %+v with a TTL, %+v without; want an entry's difference, and no more usage than memory", c.Name, kind, endless)
		}
	}
}
