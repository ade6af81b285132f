package ratelimit

import "time"

// DefaultRetryAfter is the retry-after of a failure whose cause knows no better.
const DefaultRetryAfter = time.Second

// Kind is which of the four outcomes an [Outcome] is.
type Kind uint8

// The kinds. The zero Kind is Indeterminate, which claims the least.
const (
	KindIndeterminate Kind = iota
	KindEvaluated
	KindUnavailable
	KindIncompatible
)

// String is the kind's name in metrics and JSON.
func (k Kind) String() string {
	switch k {
	case KindEvaluated:
		return "evaluated"
	case KindUnavailable:
		return "unavailable"
	case KindIncompatible:
		return "incompatible"
	case KindIndeterminate:
		return "indeterminate"
	default:
		return "unknown"
	}
}

// Category is the cause of an Unavailable or Incompatible outcome. It is for
// operators: no category is shown to a client.
type Category string

// UnavailableCategory is the cause of an Unavailable outcome.
type UnavailableCategory Category

// The causes of Unavailable. In each, provably nothing was charged.
const (
	UnavailableDeadline    UnavailableCategory = "DEADLINE"    // too little time left, or no deadline
	UnavailableOverloaded  UnavailableCategory = "OVERLOADED"  // no place in flight within the admission wait
	UnavailableConnection  UnavailableCategory = "CONNECTION"  // no connection, or the breaker is open
	UnavailableCredentials UnavailableCategory = "CREDENTIALS" // user, password or a right refused
	UnavailableServer      UnavailableCategory = "SERVER"      // an error reply that proves that nothing ran
	UnavailableClock       UnavailableCategory = "CLOCK"       // the server's clock stepped back too far
)

// IncompatibleCategory is the cause of an Incompatible outcome.
type IncompatibleCategory Category

// The causes of Incompatible.
const (
	IncompatibleState   IncompatibleCategory = "STATE"   // the key holds something of another version
	IncompatibleProgram IncompatibleCategory = "PROGRAM" // the program or the server is of another version
	IncompatibleReply   IncompatibleCategory = "REPLY"   // the reply is not one that this code speaks
	IncompatibleRequest IncompatibleCategory = "REQUEST" // this revision cannot serve the request
)

// Outcome is the answer of the port: exactly one of Evaluated, Unavailable,
// Indeterminate and Incompatible. Read it with [Match], or ask [Outcome.Allows].
// The zero Outcome is Indeterminate and denies.
type Outcome struct {
	kind       Kind
	category   Category
	policyID   string
	retryAfter time.Duration
	decision   Decision
}

// Evaluated is the outcome in which Redis decided.
type Evaluated struct{ Decision Decision }

// Unavailable is an outcome in which provably nothing was charged.
type Unavailable struct {
	PolicyID   string
	RetryAfter time.Duration // above 0, at most MaxSpan
	Category   UnavailableCategory
}

// Indeterminate is an outcome in which the evaluation was dispatched and no
// reply says what happened: it may have been charged.
type Indeterminate struct {
	PolicyID   string
	RetryAfter time.Duration // above 0, at most MaxSpan
}

// Incompatible is an outcome in which state, program, reply or request is not
// one that this code speaks. It does not claim that nothing was charged.
type Incompatible struct {
	PolicyID string
	Category IncompatibleCategory
}

// Outcome makes an Outcome of e.
func (e Evaluated) Outcome() Outcome {
	return Outcome{kind: KindEvaluated, policyID: e.Decision.PolicyID, decision: e.Decision}
}

// Outcome makes an Outcome of u. A RetryAfter that is not above 0 becomes
// DefaultRetryAfter.
func (u Unavailable) Outcome() Outcome {
	return Outcome{kind: KindUnavailable, policyID: u.PolicyID, retryAfter: u.RetryAfter, category: Category(u.Category)}
}

// Outcome makes an Outcome of i. A RetryAfter that is not above 0 becomes
// DefaultRetryAfter.
func (i Indeterminate) Outcome() Outcome {
	return Outcome{kind: KindIndeterminate, policyID: i.PolicyID, retryAfter: i.RetryAfter}
}

// Outcome makes an Outcome of i.
func (i Incompatible) Outcome() Outcome {
	return Outcome{kind: KindIncompatible, policyID: i.PolicyID, category: Category(i.Category)}
}

// Kind is which outcome o is.
func (o Outcome) Kind() Kind { return o.kind }

// Allows tells whether the request may pass: only an Evaluated outcome whose
// decision is allowed says so.
func (o Outcome) Allows() bool { return o.kind == KindEvaluated && o.decision.Allowed }

// Category is the cause of a failure, and "" where there is none to tell.
func (o Outcome) Category() Category { return o.category }

// Match calls the function of o's kind and returns its answer.
func Match[T any](o Outcome, evaluated func(Evaluated) T, unavailable func(Unavailable) T,
	indeterminate func(Indeterminate) T, incompatible func(Incompatible) T) T {
	switch o.kind {
	case KindEvaluated:
		return evaluated(Evaluated{Decision: o.decision})
	case KindUnavailable:
		return unavailable(Unavailable{PolicyID: o.policyID, RetryAfter: o.finiteRetryAfter(), Category: UnavailableCategory(o.category)})
	case KindIncompatible:
		return incompatible(Incompatible{PolicyID: o.policyID, Category: IncompatibleCategory(o.category)})
	case KindIndeterminate:
	}
	return indeterminate(Indeterminate{PolicyID: o.policyID, RetryAfter: o.finiteRetryAfter()})
}

func (o Outcome) finiteRetryAfter() time.Duration {
	if o.retryAfter <= 0 {
		return DefaultRetryAfter
	}
	return min(o.retryAfter, MaxSpan)
}
