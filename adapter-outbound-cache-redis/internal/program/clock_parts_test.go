package program_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
)

// TIME answers seconds and the microseconds since, without leading zeros: read as
// anything else, only some parts of a second come out wrong.
func TestClock_readsEveryPartOfASecond(t *testing.T) {
	standing := miniredis.RunT(t)
	client := connect(t, standing.Addr())
	p := programtest.Ordinary(t)[0]
	run := program.For(p.Algorithm())
	for _, micros := range []int64{0, 1, 50, 999, 1000, 1001, 9999, 50_000, 99_999, 100_000, 999_999} {
		standing.SetTime(time.UnixMicro(1_700_000_000_000_000 + micros))
		got := programtest.Eval(t, client, run, []string{"part"}, append(program.PolicyArgs(p), "1")...)
		if want := 1_700_000_000_000 + micros/1000; got[1] != want {
			t.Errorf("%d us after a second: ran at %v, want %d", micros, got[1], want)
		}
	}
}
