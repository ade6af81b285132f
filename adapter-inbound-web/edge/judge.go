package edge

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/answer"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/route"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/subject"
)

// Slack is what the port's deadline leaves beyond the budget, so that the port's
// own bounds end an evaluation, and not the deadline.
const Slack = 25 * time.Millisecond

// Config is what a [Judge] is made of. Nothing but RawPaths has a default.
type Config struct {
	Port     ratelimit.EdgeRateLimitPort
	Digester subject.Digester
	Resolver identity.Resolver
	Table    route.Table

	// Budget is the longest that one evaluation should take: the provider's
	// admission wait and command timeout together.
	Budget time.Duration

	// RawPaths is what happens to an ambiguous path; the zero value answers 400.
	RawPaths route.RawPaths
}

// Judge answers for requests. It holds no state of its own and is safe for
// concurrent use.
type Judge struct{ config Config }

// NewJudge checks c, or returns one error that lists everything that is missing.
func NewJudge(c Config) (*Judge, error) {
	var errs []error
	if c.Port == nil {
		errs = append(errs, errors.New("judge: no port"))
	}
	if c.Digester == (subject.Digester{}) {
		errs = append(errs, errors.New("judge: no digester"))
	}
	if c.Resolver.IsZero() {
		errs = append(errs, errors.New("judge: no resolver"))
	}
	if c.Table.IsZero() {
		errs = append(errs, errors.New("judge: no table of routes"))
	}
	if c.Budget <= 0 {
		errs = append(errs, errors.New("judge: the budget must be above 0"))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Judge{config: c}, nil
}

// Resolver is the judge's resolver.
func (j *Judge) Resolver() identity.Resolver { return j.config.Resolver }

// Table is the judge's table of routes.
func (j *Judge) Table() route.Table { return j.config.Table }

// Digest is the pseudonym of s.
func (j *Judge) Digest(s subject.Subject) string { return j.config.Digester.Digest(s) }

// Judge answers for the request of r's sender for method and target, which are
// r's own unless r describes another request. It charges if the answer allows.
func (j *Judge) Judge(r *http.Request, method string, target *url.URL) answer.Answer {
	if target.Opaque != "" {
		return answer.Refuse(http.StatusBadRequest, "The request target has no path.")
	}
	if fault := route.RawFault(target); fault != "" && j.config.RawPaths != route.ForwardRawPaths {
		return answer.Refuse(http.StatusBadRequest, "The request path has "+string(fault)+"; send it in its plain form.")
	}
	who, err := j.config.Resolver.Subject(r)
	if err != nil {
		return answer.Refuse(http.StatusBadRequest, identityDetail(err))
	}
	charge := j.config.Table.Match(method, target.Path)
	return answer.Of(j.Evaluate(r.Context(), ratelimit.Request{
		PolicyID:      charge.PolicyID,
		SubjectDigest: j.config.Digester.Digest(who),
		Cost:          charge.Cost,
	}))
}

// Evaluate asks the port within the budget and Slack, or what ctx has left.
func (j *Judge) Evaluate(ctx context.Context, req ratelimit.Request) ratelimit.Outcome {
	ctx, cancel := context.WithTimeout(ctx, j.config.Budget+Slack)
	defer cancel()
	return j.config.Port.Evaluate(ctx, req)
}

// identityDetail words for the client why it has no subject.
func identityDetail(err error) string {
	switch {
	case errors.Is(err, identity.ErrSubjectRepeated):
		return "The header that names the client must be sent once."
	case errors.Is(err, identity.ErrSubjectTooLong):
		return "The header that names the client must have at most 256 bytes."
	default:
		return "The connection has no client address to limit by."
	}
}
