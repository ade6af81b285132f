package program

import (
	"strconv"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// Schema is the one state field that fixes schema version, algorithm and
// policy revision.
func Schema(p ratelimit.Policy) string {
	return "1/" + string(p.Algorithm().Name()) + "/" + strconv.FormatInt(p.Revision(), 10)
}

// PolicyArgs are the arguments that p fixes: all but the last, which is the cost.
func PolicyArgs(p ratelimit.Policy) []string {
	numbers := ratelimit.MatchAlgorithm(p.Algorithm(),
		func(a ratelimit.FixedWindow) []int64 { return []int64{a.Limit, a.Window.Milliseconds()} },
		func(a ratelimit.SlidingWindowCounter) []int64 { return []int64{a.Limit, a.Window.Milliseconds()} },
		func(a ratelimit.TokenBucket) []int64 {
			tokens, period := a.Rate()
			return []int64{a.Capacity, tokens, period}
		})
	numbers = append(numbers, p.MaxClockRegression().Milliseconds(), p.CleanupGrace().Milliseconds())
	args := []string{Schema(p)}
	for _, n := range numbers {
		args = append(args, strconv.FormatInt(n, 10))
	}
	return args
}
