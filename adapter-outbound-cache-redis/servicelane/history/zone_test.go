package history_test

import "math"

// room is how many instants a zone can hold.
const room = tenantLimit + 2

// zone is all that is known of some instants: for each two of them, the most by which one may be after the other, in
// whole microseconds. Instant 0 is the origin. It is kept closed (no bound is larger than what others imply), so that
// equal knowledge is equal, and an instant that is dropped leaves behind what it said of others. This is the zone of
// a timed automaton.
type zone struct {
	size int
	most [room][room]int64 // most[a][b] bounds a - b
}

const unbounded = math.MaxInt64

func newZone() zone { return zone{size: 1} }

// add takes in an instant of which nothing is known, and returns its number.
func (z *zone) add() int {
	n := z.size
	z.size++
	for i := range n {
		z.most[n][i], z.most[i][n] = unbounded, unbounded
	}
	z.most[n][n] = 0
	return n
}

// bound lets a be at most that much after b, and answers whether that is possible.
func (z *zone) bound(a, b int, most int64) bool {
	if most >= z.most[a][b] {
		return true
	}
	if back := z.most[b][a]; back != unbounded && back+most < 0 {
		return false
	}
	for i := range z.size {
		for j := range z.size {
			if z.most[i][a] == unbounded || z.most[b][j] == unbounded {
				continue
			}
			z.most[i][j] = min(z.most[i][j], z.most[i][a]+most+z.most[b][j])
		}
	}
	return true
}

// within lets a be from least to most after b.
func (z *zone) within(a, b int, least, most int64) bool {
	return z.bound(a, b, most) && z.bound(b, a, -least)
}

// drop forgets count instants from the first on, and moves those behind in their place.
func (z *zone) drop(first, count int) {
	left := zone{size: z.size - count}
	from := func(n int) int {
		if n < first {
			return n
		}
		return n + count
	}
	for i := range left.size {
		for j := range left.size {
			left.most[i][j] = z.most[from(i)][from(j)]
		}
	}
	*z = left
}
