package ratelimit

import "time"

// Source says who decided.
type Source string

// The sources.
const (
	// GlobalRedis: decided by Redis for this very evaluation.
	GlobalRedis Source = "GLOBAL_REDIS"
	// LocalDenialCache: a denial of Redis that still holds, repeated without
	// asking again. Its numbers are those observed then, except RetryAfter,
	// which is counted down.
	LocalDenialCache Source = "LOCAL_DENIAL_CACHE"
)

// Certainty says what the algorithm promises.
type Certainty string

// The certainties.
const (
	// Certain: the algorithm counts exactly.
	Certain Certainty = "CERTAIN"
	// ApproximateAlgorithm: the algorithm estimates, never above its limit.
	ApproximateAlgorithm Certainty = "APPROXIMATE_ALGORITHM"
)

// Decision is what Redis decided. Every number comes from Redis and its clock;
// no client's wall clock has a part in it. The zero Decision denies.
type Decision struct {
	Allowed   bool
	Limit     int64 // the policy's limit or capacity
	Remaining int64 // what is left after this decision, 0 to Limit

	// RetryAfter is 0 when allowed. When denied, with no other traffic, the
	// same cost is admitted after exactly this time and not a millisecond
	// sooner.
	RetryAfter time.Duration

	ObservedAtMillis int64 // the Redis clock at the decision, milliseconds since 1970
	ResetAtMillis    int64 // the first instant at which the state equals a fresh one

	PolicyID       string
	PolicyRevision int64
	Source         Source
	Certainty      Certainty
}

// ResetAfter is ResetAtMillis less ObservedAtMillis, from 0 to MaxSpan.
func (d Decision) ResetAfter() time.Duration {
	return Span(d.ResetAtMillis - d.ObservedAtMillis)
}

// Span makes a duration of milliseconds, held within 0 to MaxSpan: the bounds
// of every duration that is shown to a client.
func Span(millis int64) time.Duration {
	return time.Duration(min(max(millis, 0), MaxSpan.Milliseconds())) * time.Millisecond
}
