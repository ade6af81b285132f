package answer

import (
	"encoding/json"
	"net/http"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// Problem types. The first two are registered with IANA.
const (
	TypeQuotaExceeded   = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	TypeReducedCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"

	typeBlank = "about:blank"
)

// ContentType is the media type of a [Problem].
const ContentType = "application/problem+json"

// Problem is a body of RFC 9457 with this service's members. The zero Problem is
// no body.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`

	// Outcome is evaluated, unavailable, indeterminate or incompatible; empty
	// when nothing was evaluated.
	Outcome string `json:"outcome,omitempty"`

	// ViolatedPolicies are the ids of the policies that denied.
	ViolatedPolicies []string `json:"violated-policies,omitempty"`
}

func quotaExceeded(policyIDs ...string) Problem {
	return Problem{
		Type:             TypeQuotaExceeded,
		Title:            "Quota exceeded",
		Status:           http.StatusTooManyRequests,
		Detail:           "This client has used up its allowance. Retry-After says when to come again.",
		Outcome:          ratelimit.KindEvaluated.String(),
		ViolatedPolicies: policyIDs,
	}
}

func reducedCapacity(kind ratelimit.Kind) Problem {
	return Problem{
		Type:    TypeReducedCapacity,
		Title:   "Temporarily reduced capacity",
		Status:  http.StatusServiceUnavailable,
		Detail:  "The rate limit could not be decided, so the request was not let through.",
		Outcome: kind.String(),
	}
}

// encode is the body's bytes, with a newline at the end.
func (p Problem) encode() []byte {
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and integers only
	}
	return append(body, '\n')
}
