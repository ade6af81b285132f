package subject_test

import (
	"net/netip"
	"runtime"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/shared-contract/subject"
)

func TestDigest_allocatesItsTextAlone(t *testing.T) {
	d := digester(t)
	for name, s := range subjects(t) {
		call := func() { d.Digest(s) }
		// The least of many: under the race detector a pool forgets at random.
		least := testing.AllocsPerRun(1, call)
		for range 100 {
			least = min(least, testing.AllocsPerRun(1, call))
		}
		if least > 1 {
			t.Errorf("%s: %v allocations, want 1 at most", name, least)
		}
	}
}

func TestIP_allocatesNothing(t *testing.T) {
	for _, text := range []string{"198.51.100.7", "::ffff:198.51.100.7", "2001:db8:1:1::1"} {
		addr := netip.MustParseAddr(text)
		if got := testing.AllocsPerRun(1000, func() { _, _ = subject.IP(addr, 64) }); got != 0 {
			t.Errorf("%s: %v allocations, want none", text, got)
		}
	}
}

func TestDigest_ofALongNameKeepsNoMemory(t *testing.T) {
	d, long := digester(t), subject.Name(strings.Repeat("n", 16<<20))
	heap := func() uint64 {
		runtime.GC() // what is in a pool outlives it
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := heap()
	d.Digest(long)
	if after := heap(); after > before+8<<20 {
		t.Errorf("%d MiB more than before a name of 16 MiB", (after-before)>>20)
	}
	runtime.KeepAlive(long)
}
