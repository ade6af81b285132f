// Importing-service is another service that imports the contract alone: it
// guards its work by the port and knows no provider. Its module graph is the
// standard library and the contract.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/contracttest"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/secret"
	"github.com/edgelimit/edgelimit/shared-contract/subject"
)

// evaluationTime is what a report gives to its admission.
const evaluationTime = 100 * time.Millisecond

// Reports renders reports for customers, as often as a policy allows.
type Reports struct {
	Port     ratelimit.EdgeRateLimitPort
	Digester subject.Digester
	PolicyID string
}

// Render renders a report of some pages for a customer, each page at a cost of
// one. Without an allow nothing is rendered, and the answer says why.
func (r Reports) Render(ctx context.Context, customer string, pages int64) string {
	ctx, cancel := context.WithTimeout(ctx, evaluationTime)
	defer cancel()
	outcome := r.Port.Evaluate(ctx, ratelimit.Request{
		PolicyID:      r.PolicyID,
		SubjectDigest: r.Digester.Digest(subject.Name(customer)),
		Cost:          pages,
	})
	return ratelimit.Match(outcome,
		func(e ratelimit.Evaluated) string {
			if !e.Decision.Allowed {
				return fmt.Sprintf("too many pages: again in %v", e.Decision.RetryAfter)
			}
			return fmt.Sprintf("%d pages rendered, %d left", pages, e.Decision.Remaining)
		},
		func(u ratelimit.Unavailable) string {
			return fmt.Sprintf("not now, and nothing was charged: again in %v", u.RetryAfter)
		},
		func(i ratelimit.Indeterminate) string {
			return fmt.Sprintf("not now, and it may have been charged: again in %v", i.RetryAfter)
		},
		func(ratelimit.Incompatible) string { return "this service and its limiter do not fit together" })
}

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run plays through every outcome by a scripted port. A real service takes the
// Redis provider here, and reads the secret that it shares with the gateway.
func run(out io.Writer) error {
	policy, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: "reports", Revision: 1, MaxCost: 20,
		Algorithm:          ratelimit.TokenBucket{Capacity: 60, RefillTokens: 1, RefillPeriod: time.Second},
		CleanupGrace:       30 * time.Second,
		MaxClockRegression: 2 * time.Second,
		FailureMode:        ratelimit.FailClosed,
	})
	if err != nil {
		return fmt.Errorf("make the policy of reports: %w", err)
	}
	shared, err := secret.New([]byte("an example's secret, of 32 bytes or more"))
	if err != nil {
		return fmt.Errorf("make the shared secret: %w", err)
	}
	reports := Reports{
		Port: contracttest.NewScripted(
			contracttest.Allow(policy, 48),
			contracttest.Deny(policy, 5*time.Second),
			ratelimit.Unavailable{PolicyID: policy.ID(), Category: ratelimit.UnavailableConnection}.Outcome(),
			ratelimit.Indeterminate{PolicyID: policy.ID()}.Outcome(),
			ratelimit.Incompatible{PolicyID: policy.ID(), Category: ratelimit.IncompatibleState}.Outcome(),
		),
		Digester: subject.NewDigester(shared),
		PolicyID: policy.ID(),
	}
	for range 5 {
		fmt.Fprintln(out, reports.Render(context.Background(), "customer-7", 12))
	}
	return nil
}
