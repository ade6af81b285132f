package subject_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/shared-contract/subject"
)

// subjects are one of each kind and form.
func subjects(t testing.TB) map[string]subject.Subject {
	t.Helper()
	return map[string]subject.Subject{
		"IPv4": ip(t, "198.51.100.7", 64), "IPv6": ip(t, "2001:db8:1:1::1", 64),
		"name": subject.Name("client-1"), "name of 256 bytes": subject.Name(strings.Repeat("n", 256)),
	}
}

func BenchmarkDigest(b *testing.B) {
	d := digester(b)
	for name, s := range subjects(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d.Digest(s)
			}
		})
	}
}

func TestDigest_allocatesItsTextAlone(t *testing.T) {
	d := digester(t)
	for name, s := range subjects(t) {
		call := func() { d.Digest(s) }
		// The least of many: under the race detector a pool forgets at random.
		least := testing.AllocsPerRun(1, call)
		for range 100 {
			least = min(least, testing.AllocsPerRun(1, call))
		}
		if least != 1 {
			t.Errorf("%s: %v allocations, want 1", name, least)
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
