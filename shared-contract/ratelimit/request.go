package ratelimit

import (
	"errors"
	"fmt"
)

// The bounds of a subject digest, in characters.
const (
	MinSubjectDigestLen = 16
	MaxSubjectDigestLen = 128
)

// Request is one question to the port. The zero Request is refused.
type Request struct {
	// PolicyID names the policy to decide by.
	PolicyID string

	// SubjectDigest is who is limited, already pseudonymous: 16 to 128
	// characters of A-Z a-z 0-9 _ -. The sibling package subject makes one.
	SubjectDigest string

	// Cost is what the request takes from the allowance: 1 up to the policy's
	// maximum cost.
	Cost int64

	// EvaluationID would let a repeated evaluation be recognised. This revision
	// does not deduplicate, so a request that carries one is refused rather
	// than answered as if the id had been honoured.
	EvaluationID string
}

// Check says why p cannot serve the request, every reason joined, or nil.
func (r Request) Check(p Policy) error {
	var errs []error
	if r.PolicyID != p.ID() {
		errs = append(errs, fmt.Errorf("policy id %q is not %q", clip(r.PolicyID), p.ID()))
	}
	if !ValidSubjectDigest(r.SubjectDigest) {
		errs = append(errs, fmt.Errorf("subject digest must be %d to %d characters of A-Z a-z 0-9 _ -",
			MinSubjectDigestLen, MaxSubjectDigestLen))
	}
	if r.Cost < 1 || r.Cost > p.MaxCost() {
		errs = append(errs, fmt.Errorf("cost %d is outside 1 to %d", r.Cost, p.MaxCost()))
	}
	if r.EvaluationID != "" {
		errs = append(errs, errors.New("an evaluation id cannot be honoured: this revision does not deduplicate"))
	}
	return errors.Join(errs...)
}

// ValidSubjectDigest tells whether s has the form of a subject digest.
func ValidSubjectDigest(s string) bool {
	if len(s) < MinSubjectDigestLen || len(s) > MaxSubjectDigestLen {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// clip bounds what an error message repeats of its input.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
