package denial_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

func TestLookup_aHitAllocatesNothing(t *testing.T) {
	c := cache(t, 1, time.Second, nil)
	now := c.Now()
	c.Store(ann, denied(ann, time.Hour), now, now)
	if got := testing.AllocsPerRun(1000, func() { c.Lookup(ann) }); got != 0 {
		t.Errorf("%v allocations, want none", got)
	}
}

// BenchmarkHit is denials that are repeated: of one subject, whose callers all meet
// in one shard, and of many.
func BenchmarkHit(b *testing.B) {
	for _, n := range []int{1, 10_000, 500_000} {
		b.Run(fmt.Sprintf("%d subjects", n), func(b *testing.B) {
			start := time.Now()
			slow := func() time.Duration { return time.Since(start) / 1e6 } // costs what the process's own clock does
			c := cache(b, 2*n, time.Second, slow)
			keys := subjects(n)
			for _, k := range keys {
				c.Store(k, denied(k, time.Hour), 0, 0)
			}
			var starts, misses atomic.Int64
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				at, missed := int(starts.Add(7919))%n, int64(0)
				for pb.Next() {
					if _, hit := c.Lookup(keys[at]); !hit {
						missed++
					}
					if at++; at == n {
						at = 0
					}
				}
				misses.Add(missed)
			})
			if misses.Load() > 0 {
				b.Errorf("%d misses", misses.Load())
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "hits/s")
		})
	}
}

// BenchmarkStore is denials of ever other subjects, each of which takes the place of
// another.
func BenchmarkStore(b *testing.B) {
	c := cache(b, 10_000, time.Second, (&hand{}).now)
	keys := subjects(30_000)
	b.ReportAllocs()
	for i := range b.N {
		k := keys[i%len(keys)]
		c.Store(k, denied(k, time.Hour), 0, 0)
	}
}

// BenchmarkMemory is the heap that one denial of a full cache takes.
func BenchmarkMemory(b *testing.B) {
	const n = 200_000
	var before, after runtime.MemStats
	for range b.N {
		keys := subjects(2 * n)
		runtime.GC()
		runtime.ReadMemStats(&before)
		c := cache(b, n, time.Second, (&hand{}).now)
		for _, k := range keys {
			c.Store(k, denied(k, time.Hour), 0, 0)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(c)
		runtime.KeepAlive(keys)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/entry")
}
