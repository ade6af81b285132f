package duallog

import (
	"errors"
	"fmt"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"
	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// verdictOf says what a dispatch came to: the verdict, or the error that claims no
// more than is known.
func verdictOf(r certainty.Result, limits []int) (slidinglog.Verdict, error) {
	switch r.Fate {
	case certainty.Refused:
		return slidinglog.Verdict{}, refused(r.Refusal, r.Err)
	case certainty.Answered:
		return answered(r, limits)
	default:
		return slidinglog.Verdict{}, fmt.Errorf("%w: %w", slidinglog.ErrUnknown, cause(r.Err))
	}
}

func answered(r certainty.Result, limits []int) (slidinglog.Verdict, error) {
	if failed, ok := reply.AsServerError(r.Raw); ok {
		if failed.Code == "TRYAGAIN" {
			return slidinglog.Verdict{}, resharding{failed}
		}
		return slidinglog.Verdict{}, refused(certainty.OfServerError(failed.Code), failed)
	}
	status, v, err := reply.DecodeLog(r.Raw, limits...)
	if err != nil {
		return slidinglog.Verdict{}, fmt.Errorf("%w: %w", slidinglog.ErrIncompatible, err)
	}
	switch status {
	case model.Allowed, model.Denied:
		return v, nil
	case model.ClockUnsafe:
		return slidinglog.Verdict{}, slidinglog.ErrClockUnsafe
	case model.Invalid:
		return slidinglog.Verdict{}, fmt.Errorf("%w: the program refuses it", slidinglog.ErrInvalid)
	default:
		return slidinglog.Verdict{}, fmt.Errorf("%w: a key holds something else", slidinglog.ErrIncompatible)
	}
}

// refused is the error of a call that provably did not run. A server that cannot
// run the program proves less.
func refused(why certainty.Refusal, err error) error {
	if why == certainty.Program {
		return fmt.Errorf("%w: %w", slidinglog.ErrIncompatible, cause(err))
	}
	return fmt.Errorf("%w: %w", slidinglog.ErrUnavailable, cause(err))
}

// resharding is ErrUnavailable while a cluster moves one of two keys.
type resharding struct{ err error }

func (e resharding) Error() string   { return "sliding log: the keys are being moved: " + e.err.Error() }
func (e resharding) Unwrap() []error { return []error{slidinglog.ErrUnavailable, e.err} }

// Reason is the label in metrics.
func (e resharding) Reason() string { return "resharding" }

func cause(err error) error {
	if err == nil {
		return errUntold
	}
	return err
}

var errUntold = errors.New("no cause is known")
