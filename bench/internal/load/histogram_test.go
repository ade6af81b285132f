package load

import (
	"math"
	"testing"
	"time"
)

func TestHistogram_quantileIsAtMostAThirtySecondPartTooHigh(t *testing.T) {
	for _, d := range []time.Duration{0, 1, 31, 32, 33, 63, 64, 65, 999, time.Microsecond, 777 * time.Microsecond, time.Second, time.Hour} {
		var h histogram
		h.add(d)
		got := h.quantile(0.99)
		if got < d || float64(got) > float64(d)*(1+1.0/sub) {
			t.Errorf("quantile of %v alone is %v", d, got)
		}
	}
}

func TestHistogram_takesEveryDuration(t *testing.T) {
	for _, d := range []time.Duration{-1, math.MinInt64, math.MaxInt64} {
		var h histogram
		h.add(d)
		if got := h.quantile(0.5); got < 0 {
			t.Errorf("quantile of %v alone is %v", d, got)
		}
	}
}

func TestHistogram_bucketsFollowEachOther(t *testing.T) {
	for i := range buckets - 1 {
		if got := bucket(highest(i)); got != i {
			t.Fatalf("the highest duration of bucket %d, %v, is in bucket %d", i, highest(i), got)
		}
		if got := bucket(highest(i) + 1); got != i+1 {
			t.Fatalf("the duration after bucket %d is in bucket %d", i, got)
		}
	}
}

func TestHistogram_quantilesOfMergedCounts(t *testing.T) {
	var all, slow histogram
	for range 98 {
		all.add(10)
	}
	slow.add(20)
	slow.add(30)
	all.merge(&slow)
	for q, want := range map[float64]time.Duration{0.5: 10, 0.97: 10, 0.98: 20, 0.99: 30} {
		if got := all.quantile(q); got != want {
			t.Errorf("quantile %v: got %v, want %v", q, got, want)
		}
	}
	var none histogram
	if got := none.quantile(0.5); got != 0 {
		t.Errorf("quantile of nothing: got %v, want 0", got)
	}
}
