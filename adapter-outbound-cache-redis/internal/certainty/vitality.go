package certainty

import "github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"

// Vitality is what a result tells a breaker about the server.
type Vitality uint8

// The vitalities.
const (
	Silent Vitality = iota // tells nothing
	Alive                  // the server answered
	Dead                   // the server could not be reached, or let a command time out
)

// Vitality is what r tells a breaker. A caller who left, a dial that nobody
// waited for, overload and a broken connection tell nothing.
func (r Result) Vitality() Vitality {
	switch {
	case r.Echo:
		return Silent
	case r.Fate == Answered:
		return Alive
	case r.Fate == Refused && r.Refusal == Unreachable:
		return Dead
	case r.Fate == Unanswered && r.TimedOut && !r.CallerLeft:
		return Dead
	default:
		return Silent
	}
}

// DoubtsClient tells whether an answer of the server puts in doubt that it still
// serves this client.
func (r Result) DoubtsClient() bool {
	failed, ok := reply.AsServerError(r.Raw)
	return ok && r.Fate == Answered && failed.Code != "TRYAGAIN"
}

// IsReadOnly tells whether the server answered that it is a replica: another one
// is to be found.
func (r Result) IsReadOnly() bool {
	failed, ok := reply.AsServerError(r.Raw)
	return ok && failed.Code == "READONLY"
}

// Outage is what r tells a breaker that counts every failure to get an answer,
// whatever its cause: all but a caller who left, or keys that are being moved.
func (r Result) Outage() Vitality {
	failed, refused := reply.AsServerError(r.Raw)
	switch {
	case r.Fate == Refused && r.Refusal == Deadline, r.CallerLeft, r.Echo, refused && failed.Code == "TRYAGAIN":
		return Silent
	case r.Fate == Answered && (!refused || OfServerError(failed.Code) == Program):
		return Alive
	default:
		return Dead
	}
}
