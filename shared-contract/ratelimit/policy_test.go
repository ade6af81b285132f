package ratelimit_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

const (
	millisecond = time.Millisecond
	second      = time.Second
	day         = 24 * time.Hour
	year        = ratelimit.MaxSpan
	maxSafe     = ratelimit.MaxSafeInteger
)

// valid is a policy of which each row of a table changes one thing.
func valid() ratelimit.PolicyConfig {
	return ratelimit.PolicyConfig{
		ID: "api", Revision: 1, Algorithm: ratelimit.FixedWindow{Limit: 10, Window: second}, MaxCost: 1,
		CleanupGrace: 5 * second, MaxClockRegression: 2 * second, FailureMode: ratelimit.FailClosed,
	}
}

func TestNewPolicy_boundsOnBothSides(t *testing.T) {
	type config = ratelimit.PolicyConfig
	for _, row := range []struct {
		sentence string
		change   func(c *config)
		refusal  string // "" if it is accepted
	}{
		{"an id of one character", func(c *config) { c.ID = "a" }, ""},
		{"an id of 64 characters", func(c *config) { c.ID = strings.Repeat("a", 64) }, ""},
		{"an id of 65 characters", func(c *config) { c.ID = strings.Repeat("a", 65) }, "id must be"},
		{"an id of all that an id may hold", func(c *config) { c.ID = "0a-z_9.x" }, ""},
		{"an empty id", func(c *config) { c.ID = "" }, "id must be"},
		{"an id that begins with a dot", func(c *config) { c.ID = ".a" }, "id must be"},
		{"an id in capitals", func(c *config) { c.ID = "Api" }, "id must be"},
		{"an id with a colon", func(c *config) { c.ID = "a:b" }, "id must be"},
		{"an id with a brace", func(c *config) { c.ID = "a{b}" }, "id must be"},
		{"an id with a newline at its end", func(c *config) { c.ID = "api\n" }, "id must be"},
		{"an id with an umlaut", func(c *config) { c.ID = "\u00fcber" }, "id must be"},

		{"revision 0", func(c *config) { c.Revision = 0 }, "revision 0 is outside"},
		{"revision -1", func(c *config) { c.Revision = -1 }, "revision -1 is outside"},
		{"the largest revision", func(c *config) { c.Revision = maxSafe }, ""},
		{"a larger revision", func(c *config) { c.Revision = maxSafe + 1 }, "is outside 1 to 9007199254740991"},

		{"no grace and no regression", func(c *config) { c.CleanupGrace, c.MaxClockRegression = 0, 0 }, ""},
		{"a grace below the regression", func(c *config) { c.CleanupGrace = second }, ""},
		{"a grace of 366 days", func(c *config) { c.CleanupGrace = year }, ""},
		{"a longer grace", func(c *config) { c.CleanupGrace = year + millisecond }, "cleanup grace"},
		{"a negative grace", func(c *config) { c.CleanupGrace = -millisecond }, "cleanup grace -1ms is outside"},
		{"a grace of half a millisecond", func(c *config) { c.CleanupGrace = millisecond / 2 }, "whole number of milliseconds"},
		{"a regression of 366 days", func(c *config) { c.MaxClockRegression = year }, ""},
		{"a longer regression", func(c *config) { c.MaxClockRegression = year + millisecond }, "max clock regression"},
		{"a negative regression", func(c *config) { c.MaxClockRegression = -millisecond }, "max clock regression -1ms"},
		{"a regression of a nanosecond more", func(c *config) { c.MaxClockRegression = second + 1 }, "whole number of milliseconds"},
		{"the least duration there is", func(c *config) { c.CleanupGrace = math.MinInt64 }, "cleanup grace"},
		{"the largest duration there is", func(c *config) { c.MaxClockRegression = math.MaxInt64 }, "max clock regression"},

		{"no failure mode", func(c *config) { c.FailureMode = "" }, `failure mode "" cannot be kept`},
		{"another failure mode", func(c *config) { c.FailureMode = "FAIL_OPEN" }, `failure mode "FAIL_OPEN" cannot be kept`},
		{"a claim to deduplicate", func(c *config) { c.DeduplicationWindow = second }, "deduplication cannot be kept"},
		{"a negative claim to deduplicate", func(c *config) { c.DeduplicationWindow = -1 }, "deduplication cannot be kept"},

		{"a max cost of 0", func(c *config) { c.MaxCost = 0 }, "max cost 0 is outside 1 to 10"},
		{"a negative max cost", func(c *config) { c.MaxCost = -1 }, "max cost -1 is outside"},
		{"a max cost of the limit", func(c *config) { c.MaxCost = 10 }, ""},
		{"a max cost above the limit", func(c *config) { c.MaxCost = 11 }, "max cost 11 is outside 1 to 10"},
		{"a max cost above the capacity", func(c *config) {
			c.Algorithm = ratelimit.TokenBucket{Capacity: 3, RefillTokens: 1, RefillPeriod: second}
			c.MaxCost = 4
		}, "max cost 4 is outside 1 to 3"},

		{"no algorithm", func(c *config) { c.Algorithm = nil }, "algorithm <nil> is not"},
		{"a nil pointer to an algorithm", func(c *config) { c.Algorithm = (*ratelimit.FixedWindow)(nil) }, "algorithm *ratelimit.FixedWindow is not"},
		{"a pointer to a fixed window", func(c *config) { c.Algorithm = &ratelimit.FixedWindow{Limit: 1, Window: second} }, "algorithm *ratelimit.FixedWindow is not"},
		{"a pointer to a counter", func(c *config) { c.Algorithm = &ratelimit.SlidingWindowCounter{Limit: 1, Window: second} }, "algorithm *ratelimit.SlidingWindowCounter is not"},
		{"a pointer to a bucket", func(c *config) {
			c.Algorithm = &ratelimit.TokenBucket{Capacity: 1, RefillTokens: 1, RefillPeriod: second}
		}, "algorithm *ratelimit.TokenBucket is not"},
		{"an algorithm in another's clothes", func(c *config) {
			c.Algorithm = struct{ ratelimit.FixedWindow }{ratelimit.FixedWindow{Limit: 1, Window: second}}
		}, "is not FixedWindow"},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			c := valid()
			row.change(&c)
			checkRefusal(t, c, row.refusal)
		})
	}
}

func TestNewPolicy_algorithmsOnBothSides(t *testing.T) {
	for _, row := range []struct {
		sentence  string
		algorithm ratelimit.Algorithm
		refusal   string
	}{
		{"the smallest fixed window", ratelimit.FixedWindow{Limit: 1, Window: millisecond}, ""},
		{"the largest fixed window", ratelimit.FixedWindow{Limit: maxSafe, Window: year}, ""},
		{"a fixed window of limit 0", ratelimit.FixedWindow{Limit: 0, Window: second}, "limit 0 is outside"},
		{"a fixed window of limit -1", ratelimit.FixedWindow{Limit: -1, Window: second}, "limit -1 is outside"},
		{"a fixed window of 2^53", ratelimit.FixedWindow{Limit: maxSafe + 1, Window: second}, "limit 9007199254740992 is outside"},
		{"a fixed window of no time", ratelimit.FixedWindow{Limit: 1, Window: 0}, "window 0s is outside"},
		{"a fixed window of a microsecond less than a millisecond", ratelimit.FixedWindow{Limit: 1, Window: 999 * time.Microsecond}, "window 999"},
		{"a fixed window of one and a half milliseconds", ratelimit.FixedWindow{Limit: 1, Window: 1500 * time.Microsecond}, "whole number of milliseconds"},
		{"a fixed window of a millisecond above 366 days", ratelimit.FixedWindow{Limit: 1, Window: year + millisecond}, "to 366 days"},
		{"a fixed window of a nanosecond above 366 days", ratelimit.FixedWindow{Limit: 1, Window: year + 1}, "to 366 days"},
		{"a fixed window of negative time", ratelimit.FixedWindow{Limit: 1, Window: -second}, "window -1s is outside"},

		{"the smallest counter", ratelimit.SlidingWindowCounter{Limit: 1, Window: millisecond}, ""},
		{"the counter of the largest limit and window", ratelimit.SlidingWindowCounter{Limit: 9_007_199_254, Window: 9_007_199_254 * millisecond}, ""},
		{"a counter of a limit above it", ratelimit.SlidingWindowCounter{Limit: 9_007_199_255, Window: second}, "limit 9007199255 is outside 1 to 9007199254"},
		{"a counter of a window above it", ratelimit.SlidingWindowCounter{Limit: 1, Window: 9_007_199_255 * millisecond}, "the most that exact arithmetic allows"},
		{"a counter of limit 0", ratelimit.SlidingWindowCounter{Limit: 0, Window: second}, "limit 0 is outside"},
		{"a counter of no time", ratelimit.SlidingWindowCounter{Limit: 1, Window: 0}, "window 0s is outside"},
		{"a counter of a microsecond", ratelimit.SlidingWindowCounter{Limit: 1, Window: time.Microsecond}, "window 1\u00b5s is outside"},

		{"the smallest bucket", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 1, RefillPeriod: millisecond}, ""},
		{"the largest bucket", ratelimit.TokenBucket{Capacity: 9_007_199_254_740, RefillTokens: 9_007_199_254_740, RefillPeriod: millisecond}, ""},
		{"a bucket of a capacity above it", ratelimit.TokenBucket{Capacity: 9_007_199_254_741, RefillTokens: 9_007_199_254_740, RefillPeriod: millisecond}, "capacity 9007199254741 is outside"},
		{"a bucket of a refill above it", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 9_007_199_254_741, RefillPeriod: millisecond}, "leaves exact arithmetic"},
		{"a bucket of a refill that reduces to the most", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 9_007_199_254_740_000, RefillPeriod: second}, ""},
		{"a bucket of a refill above 2^53-1", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 9_007_199_254_740_992, RefillPeriod: second}, "refill tokens 9007199254740992 is outside"},
		{"a bucket of capacity 0", ratelimit.TokenBucket{Capacity: 0, RefillTokens: 1, RefillPeriod: second}, "capacity 0 is outside"},
		{"a bucket without refill", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 0, RefillPeriod: second}, "refill tokens 0 is outside"},
		{"a bucket of negative refill", ratelimit.TokenBucket{Capacity: 1, RefillTokens: -1, RefillPeriod: second}, "refill tokens -1 is outside"},
		{"a bucket of no period", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 1, RefillPeriod: 0}, "refill period 0s is outside"},
		{"a bucket of half a millisecond", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 1, RefillPeriod: millisecond / 2}, "refill period 500"},
		{"a bucket of a period of 1.0005 s", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 1, RefillPeriod: second + 500*time.Microsecond}, "whole number of milliseconds"},
		{"a bucket of a period of 366 days", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 1, RefillPeriod: year}, ""},
		{"a bucket of a longer period", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 1, RefillPeriod: year + millisecond}, "refill period"},

		// (refill x 1000 + 1) x period is never 2^53-1 itself: of its factors only
		// 1 is one above a thousand's multiple. These come as near as may be.
		{"640 below the bound", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 178_888_190, RefillPeriod: 50_351 * millisecond}, ""},
		{"one refill above that", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 178_888_191, RefillPeriod: 50_351 * millisecond}, "leaves exact arithmetic"},
		{"refill x 1000 + 1 is exactly the bound by the period", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 1_509_755_155, RefillPeriod: 5_966 * millisecond}, ""},
		{"refill x 1000 is, and the remainder's 1 leaves it", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 697_853_820, RefillPeriod: 12_907 * millisecond}, "leaves exact arithmetic"},
		{"a prime period with the most refill", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 9_007_352, RefillPeriod: 999_983 * millisecond}, ""},
		{"a prime period with one refill more", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 9_007_353, RefillPeriod: 999_983 * millisecond}, "leaves exact arithmetic"},
		{"a period of one with the most refill", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 9_007_199_254_740, RefillPeriod: millisecond}, ""},
		{"a large refill of a large period that hardly reduces", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 9_007_199_254_740, RefillPeriod: 9_007_199_254 * millisecond}, "leaves exact arithmetic"},
		{"nearly the same, which reduces to 1000 a millisecond", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 9_007_199_254_000, RefillPeriod: 9_007_199_254 * millisecond}, ""},
		{"a refill of 2 a day, written for 366 days", ratelimit.TokenBucket{Capacity: 732, RefillTokens: 732, RefillPeriod: year}, ""},
		{"the same rate with a refill that does not reduce", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 731, RefillPeriod: year - millisecond}, "leaves exact arithmetic"},

		{"a fill time of exactly 366 days", ratelimit.TokenBucket{Capacity: 366, RefillTokens: 1, RefillPeriod: day}, ""},
		{"a fill time of a token more", ratelimit.TokenBucket{Capacity: 367, RefillTokens: 1, RefillPeriod: day}, "takes more than 366 days"},
		{"a fill time of a millisecond more", ratelimit.TokenBucket{Capacity: 366, RefillTokens: 1, RefillPeriod: day + millisecond}, "takes more than 366 days"},
		{"a fill time of exactly 366 days in parts of a millisecond", ratelimit.TokenBucket{Capacity: 31_622_400_000 * 7, RefillTokens: 7, RefillPeriod: millisecond}, ""},
		{"a fill time of a seventh of a millisecond more", ratelimit.TokenBucket{Capacity: 31_622_400_000*7 + 1, RefillTokens: 7, RefillPeriod: millisecond}, "takes more than 366 days"},
		{"a fill time whose product exceeds 64 bits", ratelimit.TokenBucket{Capacity: 9_007_199_254_740, RefillTokens: 1, RefillPeriod: year}, "takes more than 366 days"},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			c := valid()
			c.Algorithm = row.algorithm
			checkRefusal(t, c, row.refusal)
		})
	}
}

func checkRefusal(t *testing.T, c ratelimit.PolicyConfig, refusal string) {
	t.Helper()
	p, err := ratelimit.NewPolicy(c)
	if refusal == "" {
		if err != nil || p.IsZero() {
			t.Fatalf("got %v, want a policy", err)
		}
		return
	}
	if err == nil || !strings.Contains(err.Error(), refusal) {
		t.Fatalf("got %v, want an error that says %q", err, refusal)
	}
	if !p.IsZero() {
		t.Error("got a policy beside the error")
	}
}

func TestNewPolicy_oneErrorListsEveryViolation(t *testing.T) {
	_, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: "No Such Id", Revision: 0,
		Algorithm:    ratelimit.TokenBucket{Capacity: 0, RefillTokens: 9_007_353, RefillPeriod: 999_983 * millisecond},
		CleanupGrace: -1, MaxClockRegression: 1, FailureMode: "FAIL_OPEN", DeduplicationWindow: 1,
	})
	if err == nil {
		t.Fatal("got no error")
	}
	for _, violation := range []string{
		`policy "No Such Id"`, "id must be", "revision 0", "cleanup grace -1ns", "max clock regression 1ns", "capacity 0",
		"leaves exact arithmetic", "max cost 0", `failure mode "FAIL_OPEN"`, "deduplication",
	} {
		if !strings.Contains(err.Error(), violation) {
			t.Errorf("the error does not say %q:\n%v", violation, err)
		}
	}
}

func TestNewPolicy_anErrorRepeatsLittleOfItsInput(t *testing.T) {
	c := valid()
	c.ID, c.FailureMode = strings.Repeat("x", 1<<20), ratelimit.FailureMode(strings.Repeat("y", 1<<20))
	if _, err := ratelimit.NewPolicy(c); err == nil || len(err.Error()) > 1000 {
		t.Error("got no error, or one that repeats a megabyte")
	}
}

func TestPolicy_saysWhatItWasMadeOf(t *testing.T) {
	c := valid()
	p := must(t, c)
	if p.ID() != c.ID || p.Revision() != c.Revision || p.Algorithm() != c.Algorithm || p.MaxCost() != c.MaxCost ||
		p.CleanupGrace() != c.CleanupGrace || p.MaxClockRegression() != c.MaxClockRegression || p.FailureMode() != c.FailureMode {
		t.Errorf("got %+v, want %+v", p, c)
	}
}

func TestPolicy_whatFollowsFromItsAlgorithm(t *testing.T) {
	for _, row := range []struct {
		sentence  string
		algorithm ratelimit.Algorithm
		limit     int64
		certainty ratelimit.Certainty
		longest   time.Duration // with a grace of 5 s and a regression of 2 s
	}{
		{"a fixed window lives a window", ratelimit.FixedWindow{Limit: 4, Window: second}, 4, ratelimit.Certain, 8 * second},
		{"a counter lives two", ratelimit.SlidingWindowCounter{Limit: 5, Window: second}, 5, ratelimit.ApproximateAlgorithm, 9 * second},
		{"a bucket lives until it is full, rounded up", ratelimit.TokenBucket{Capacity: 10, RefillTokens: 3, RefillPeriod: second}, 10, ratelimit.Certain, 7*second + 3334*millisecond},
		{"the slowest bucket lives 366 days", ratelimit.TokenBucket{Capacity: 366, RefillTokens: 1, RefillPeriod: day}, 366, ratelimit.Certain, year + 7*second},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			c := valid()
			c.Algorithm = row.algorithm
			p := must(t, c)
			if p.Limit() != row.limit || p.Certainty() != row.certainty || p.LongestState() != row.longest {
				t.Errorf("got %d %s %v, want %d %s %v", p.Limit(), p.Certainty(), p.LongestState(), row.limit, row.certainty, row.longest)
			}
		})
	}
}

func TestPolicy_zeroIsNoPolicy(t *testing.T) {
	var p ratelimit.Policy
	if !p.IsZero() || p.ID() != "" || p.Revision() != 0 || p.Algorithm() != nil || p.Limit() != 0 || p.MaxCost() != 0 || p.LongestState() != 0 {
		t.Errorf("got %+v", p)
	}
	for _, req := range []ratelimit.Request{{}, {SubjectDigest: strings.Repeat("a", 22), Cost: 1}, {SubjectDigest: strings.Repeat("a", 22)}} {
		if req.Check(p) == nil {
			t.Errorf("the zero policy serves %+v", req)
		}
	}
}

func TestTokenBucket_rateIsReduced(t *testing.T) {
	for _, row := range []struct {
		bucket         ratelimit.TokenBucket
		tokens, period int64
	}{
		{ratelimit.TokenBucket{RefillTokens: 10, RefillPeriod: second}, 1, 100},
		{ratelimit.TokenBucket{RefillTokens: 7, RefillPeriod: second}, 7, 1000},
		{ratelimit.TokenBucket{RefillTokens: 5000, RefillPeriod: second}, 5, 1},
		{ratelimit.TokenBucket{}, 0, 0},
	} {
		if tokens, period := row.bucket.Rate(); tokens != row.tokens || period != row.period {
			t.Errorf("%+v: got %d per %d ms, want %d per %d ms", row.bucket, tokens, period, row.tokens, row.period)
		}
	}
}

func TestMatchAlgorithm_callsTheArmOfEach(t *testing.T) {
	for _, a := range []ratelimit.Algorithm{
		ratelimit.FixedWindow{Limit: 1}, ratelimit.SlidingWindowCounter{Limit: 1}, ratelimit.TokenBucket{Capacity: 1},
	} {
		got := ratelimit.MatchAlgorithm(a,
			func(ratelimit.FixedWindow) ratelimit.AlgorithmName { return ratelimit.NameFixedWindow },
			func(ratelimit.SlidingWindowCounter) ratelimit.AlgorithmName {
				return ratelimit.NameSlidingWindowCounter
			},
			func(ratelimit.TokenBucket) ratelimit.AlgorithmName { return ratelimit.NameTokenBucket })
		if got != a.Name() {
			t.Errorf("got the arm of %s for %s", got, a.Name())
		}
	}
}

func must(t *testing.T, c ratelimit.PolicyConfig) ratelimit.Policy {
	t.Helper()
	p, err := ratelimit.NewPolicy(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
