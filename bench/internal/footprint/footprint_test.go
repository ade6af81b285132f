package footprint_test

import (
	"testing"

	"github.com/edgelimit/edgelimit/bench/internal/contender"
	"github.com/edgelimit/edgelimit/bench/internal/footprint"
	"github.com/edgelimit/edgelimit/bench/internal/server"
)

// TestMeasure_leavesKeysOutOfTheComparison gives one contender two keys: with the
// longer one measured first, and alone, it takes the same.
func TestMeasure_leavesKeysOutOfTheComparison(t *testing.T) {
	s, err := server.Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	plain := contender.NewUlule(contender.Allowed)
	long := plain
	long.Open = func(addr string, names []string) (contender.Limiter, error) {
		longer := make([]string, len(names))
		for i, name := range names {
			longer[i] = "a much longer name, of more bytes than one size of the allocator: " + name
		}
		return plain.Open(addr, longer)
	}
	const subjects = 5000
	prints, err := footprint.Measure(t.Context(), s, []contender.Contender{long, plain, long}, subjects)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := footprint.Measure(t.Context(), s, []contender.Contender{plain}, subjects)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range prints {
		if difference := p.Bytes - prints[0].Bytes; difference < -8 || difference > 8 {
			t.Errorf("contender %d takes %.0f bytes, the first %.0f; want the same", i, p.Bytes, prints[0].Bytes)
		}
	}
	if alone[0].Bytes < 60 || alone[0].Bytes > prints[0].Bytes-32 {
		t.Errorf("%.0f bytes with short keys, %.0f with long ones", alone[0].Bytes, prints[0].Bytes)
	}
}
