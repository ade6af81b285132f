package certainty

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
