package middleware

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/answer"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limiter"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/limitkey"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// The layers' names in the body of a denial. No policy of the edge port has a
// colon in its id.
const (
	policyTenant  = "inbound-web:tenant"
	policyUser    = "inbound-web:user"
	policyKey     = "inbound-web:key"
	policyAddress = "inbound-web:ip"
)

// inboundJudge answers for the requests of one mounted RateLimitMiddleware.
type inboundJudge struct {
	resolver identity.Resolver
	keys     limitkey.Builder
	limits   func(context.Context, identity.Principal) Limits
	shared   limiters
	fallback *limiters
	replicas int
	observer Observer
}

func newInboundJudge(m RateLimitMiddleware) *inboundJudge {
	window := m.Window
	if window == 0 {
		window = limiter.DefaultWindow
	}
	j := &inboundJudge{
		resolver: m.Resolver, keys: m.Keys, limits: m.Limits,
		shared: newLimiters(m.Limiter, m.DualLayerLimiter, window), observer: m.Observer,
	}
	if f := m.Fallback; f != nil {
		local := newLimiters(f.Limiter, f.DualLayerLimiter, window)
		j.fallback, j.replicas = &local, max(f.Replicas, 1)
	}
	if absent(m.Observer) {
		j.observer = unobserved{}
	}
	return j
}

// question is one call.
type question struct {
	tenant       string // id
	keys         limitkey.Keys
	outer, inner answer.Bound // inner is zero in a call of one layer
}

func (q question) dual() bool { return q.inner != (answer.Bound{}) }

// among is the question for one of so many replicas: an equal part of each limit.
func (q question) among(replicas int) question {
	for _, bound := range []*answer.Bound{&q.outer, &q.inner} {
		if bound.Limit > 0 {
			bound.Limit = max(bound.Limit/replicas, 1)
		}
	}
	return q
}

func (j *inboundJudge) judge(r *http.Request) answer.Answer {
	q, err := j.questionOf(r)
	if err != nil {
		j.observer.Failed("invalid")
		return answer.Refuse(http.StatusBadRequest, refusalDetail(err))
	}
	v, err := j.shared.ask(r.Context(), q)
	local := j.fallback != nil && slidinglog.IsOutage(err)
	if r.Context().Err() != nil && err != nil { // nobody waits for an answer
		return answer.OfLogFailure(err)
	}
	if local {
		j.observer.FellBack(slidinglog.Reason(err))
		q = q.among(j.replicas)
		v, err = j.fallback.ask(r.Context(), q)
	}
	if err != nil {
		j.observer.Failed(slidinglog.Reason(err))
		return answer.OfLogFailure(err)
	}
	if !v.Allowed {
		j.observer.Rejected(q.tenant, q.deniedBy(v))
	}
	a := answer.OfLog(v, q.outer, q.inner)
	a.Local = local
	return a
}

func (j *inboundJudge) questionOf(r *http.Request) (question, error) {
	p, err := j.resolver.Principal(r)
	if err != nil {
		return question{}, err
	}
	var client netip.Prefix
	if p.IsAnonymous() {
		if client, err = j.resolver.Client(r); err != nil {
			return question{}, err
		}
	}
	keys, err := j.keys.Keys(p, client)
	if err != nil {
		return question{}, err
	}
	limits := j.limits(r.Context(), p)
	q := question{tenant: p.Tenant, keys: keys, outer: answer.Bound{PolicyID: policyTenant, Limit: limits.Tenant}}
	switch {
	case p.IsAnonymous():
		q.outer = answer.Bound{PolicyID: policyAddress, Limit: limits.Anonymous}
	case j.shared.dual == nil:
	case p.User != "":
		q.inner = answer.Bound{PolicyID: policyUser, Limit: limits.User}
	case p.Key != "":
		q.inner = answer.Bound{PolicyID: policyKey, Limit: limits.Key}
	}
	return q, nil
}

// deniedBy is the layer without room in a verdict that denies.
func (q question) deniedBy(v slidinglog.Verdict) Layer {
	switch {
	case q.outer.PolicyID == policyAddress:
		return LayerIP
	case !q.dual():
		return LayerTenant
	case v.Outer.Remaining <= 0 && v.Inner.Remaining <= 0:
		return LayerBoth
	case v.Inner.Remaining < v.Outer.Remaining:
		return LayerUser
	default:
		return LayerTenant
	}
}

// limiters are a limiter of each kind. The dual one may be nil.
type limiters struct {
	single limiter.RateLimiter
	dual   limiter.DualLayerLimiter
	window time.Duration
}

func newLimiters(single limiter.RateLimiter, dual limiter.DualLayerLimiter, window time.Duration) limiters {
	if absent(dual) {
		dual = nil
	}
	return limiters{single, dual, window}
}

func (l limiters) ask(ctx context.Context, q question) (slidinglog.Verdict, error) {
	if q.dual() {
		return l.askDual(ctx, q)
	}
	if exact, ok := l.single.(limiter.ContextRateLimiter); ok {
		return exact.AllowContext(ctx, q.keys.Outer, q.outer.Limit)
	}
	allowed, remaining, err := l.single.Allow(q.keys.Outer, q.outer.Limit)
	return l.wholeWindow(allowed, remaining, 0), err
}

func (l limiters) askDual(ctx context.Context, q question) (slidinglog.Verdict, error) {
	if exact, ok := l.dual.(limiter.ContextDualLayerLimiter); ok {
		return exact.AllowDualContext(ctx, q.keys.Outer, q.outer.Limit, q.keys.Inner, q.inner.Limit)
	}
	allowed, outer, inner, err := l.dual.AllowDual(q.keys.Outer, q.outer.Limit, q.keys.Inner, q.inner.Limit)
	return l.wholeWindow(allowed, outer, inner), err
}

// wholeWindow is the verdict of a limiter that does not tell when: never early.
func (l limiters) wholeWindow(allowed bool, outer, inner int) slidinglog.Verdict {
	v := slidinglog.Verdict{
		Allowed: allowed,
		Outer:   slidinglog.Layer{Remaining: outer, ResetAfter: l.window},
		Inner:   slidinglog.Layer{Remaining: inner, ResetAfter: l.window},
	}
	if !allowed {
		v.RetryAfter = l.window
	}
	return v
}

// refusalDetail words for the client why it cannot be limited.
func refusalDetail(err error) string {
	switch {
	case errors.Is(err, identity.ErrPrincipalRepeated):
		return "The headers that name the tenant, the user and the key must each be sent once."
	case errors.Is(err, identity.ErrPrincipalTooLong):
		return "The headers that name the tenant, the user and the key must have at most 256 bytes each."
	case errors.Is(err, identity.ErrNoTenant):
		return "A user or a key must come with its tenant."
	case errors.Is(err, limitkey.ErrLongID):
		return "The id of the tenant, the user or the key is too long."
	default:
		return "The connection has no client address to limit by."
	}
}
