package subject_test

import (
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
