package slidinglog

import "errors"

// The errors of every implementation, to be told apart by errors.Is. With each of
// them there is no verdict, and none of them allows.
var (
	// ErrInvalid: the call cannot be served as it was made; nothing ran.
	ErrInvalid = errors.New("sliding log: invalid call")
	// ErrUnavailable: the store could not be asked; nothing ran.
	ErrUnavailable = errors.New("sliding log: unavailable")
	// ErrUnknown: the store was asked and its answer was lost; the call may have
	// been counted, and was not repeated.
	ErrUnknown = errors.New("sliding log: unknown whether counted")
	// ErrClockUnsafe: the log is more than one window ahead of the clock; nothing
	// was counted.
	ErrClockUnsafe = errors.New("sliding log: the clock stepped back")
	// ErrIncompatible: the key or the answer is not one that this version reads.
	ErrIncompatible = errors.New("sliding log: incompatible")
)

// IsOutage tells whether err is one for which an outage policy may decide in the
// store's place: ErrUnavailable, ErrUnknown or ErrClockUnsafe, and not ErrInvalid
// or ErrIncompatible as well. An error that is none of the five is not: nobody
// knows what it means.
func IsOutage(err error) bool {
	if errors.Is(err, ErrInvalid) || errors.Is(err, ErrIncompatible) {
		return false
	}
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnknown) || errors.Is(err, ErrClockUnsafe)
}

// Reason is a short label for metrics of what err says: what the nearest error in
// its chain with a method Reason() string answers, for causes finer than the five,
// else invalid, incompatible, unavailable, unknown or clock_unsafe, else other. It
// is "" for no error.
func Reason(err error) string {
	var reasoned interface{ Reason() string }
	switch {
	case err == nil:
		return ""
	case errors.As(err, &reasoned):
		return reasoned.Reason()
	case errors.Is(err, ErrInvalid):
		return "invalid"
	case errors.Is(err, ErrIncompatible):
		return "incompatible"
	case errors.Is(err, ErrUnavailable):
		return "unavailable"
	case errors.Is(err, ErrUnknown):
		return "unknown"
	case errors.Is(err, ErrClockUnsafe):
		return "clock_unsafe"
	default:
		return "other"
	}
}
