package load

import (
	"math/bits"
	"time"
)

// Durations are counted in buckets of which every power of two has sub, so a
// quantile is at most a thirty-second part too high.
const (
	subBits = 5
	sub     = 1 << subBits
	buckets = (64 - subBits) * sub
)

// histogram counts durations in a fixed amount of memory.
type histogram struct{ counts [buckets]uint32 }

func (h *histogram) add(d time.Duration) { h.counts[bucket(d)]++ }

func (h *histogram) merge(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
}

// quantile is the duration that a share q of the counted ones does not exceed; 0 if
// there are none.
func (h *histogram) quantile(q float64) time.Duration {
	var total uint64
	for _, n := range h.counts {
		total += uint64(n)
	}
	rank := uint64(q * float64(total))
	var seen uint64
	for i, n := range h.counts {
		seen += uint64(n)
		if seen > rank {
			return highest(i)
		}
	}
	return 0
}

func bucket(d time.Duration) int {
	n := uint64(max(d, 0))
	if n < sub {
		return int(n)
	}
	shift := bits.Len64(n) - subBits - 1
	return shift<<subBits + int(n>>shift)
}

// highest is the longest duration of a bucket.
func highest(bucket int) time.Duration {
	if bucket < 2*sub {
		return time.Duration(bucket)
	}
	shift := bucket>>subBits - 1
	return time.Duration((bucket&(sub-1)+sub+1)<<shift - 1)
}
