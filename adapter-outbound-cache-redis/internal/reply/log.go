package reply

import (
	"errors"
	"fmt"

	"github.com/edgelimit/edgelimit/shared-contract/model"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// DecodeLog reads one raw reply of the log program that was asked about layers of
// these limits, one or two. The verdict means something under ALLOWED and DENIED.
func DecodeLog(raw []byte, limits ...int) (model.Status, slidinglog.Verdict, error) {
	var n [5]int64
	status, err := read(raw, n[:])
	if err != nil {
		return "", slidinglog.Verdict{}, err
	}
	if err := logContradiction(status, n, limits); err != nil {
		return "", slidinglog.Verdict{}, err
	}
	layer := func(i int) slidinglog.Layer {
		return slidinglog.Layer{Remaining: int(n[i]), ResetAfter: ratelimit.Span(n[i+3])}
	}
	return status, slidinglog.Verdict{
		Allowed: status == model.Allowed, RetryAfter: ratelimit.Span(n[2]), Outer: layer(0), Inner: layer(1),
	}, nil
}

// logContradiction checks remaining outer and inner, retry-after, reset-after
// outer and inner against the status and each other.
func logContradiction(status model.Status, n [5]int64, limits []int) error {
	if status != model.Allowed && status != model.Denied {
		if n != [5]int64{} {
			return fmt.Errorf("numbers under status %s", status)
		}
		return nil
	}
	if (status == model.Allowed) != (n[2] == 0) {
		return errors.New("a retry-after with ALLOWED, or DENIED without")
	}
	full := false // a layer has nothing left
	for i := range 2 {
		limit := int64(0)
		if i < len(limits) {
			limit = int64(limits[i])
			full = full || n[i] == 0
		}
		switch remaining, resetAfter := n[i], n[i+3]; {
		case remaining > limit, i >= len(limits) && resetAfter != 0:
			return errors.New("a layer's numbers are not of its limit")
		case status == model.Allowed && i < len(limits) && (remaining == limit || resetAfter == 0):
			return errors.New("ALLOWED, and a layer has counted nothing")
		}
	}
	if status == model.Denied && !full {
		return errors.New("DENIED, and every layer has something left")
	}
	return nil
}
