package handler

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/answer"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/subject"
)

// MaxBody is the longest body of evaluate, in bytes.
const MaxBody = 64 << 10

// Evaluate decides about one request that its caller describes in JSON, and
// charges it if it is allowed:
//
//	{"policy"?, "subject" | "subjectDigest", "subjectKind"?, "cost"?}
//
// An answer of the port is 200, allowed or not, with the X-RateLimit-* fields.
// What the caller has to mend is 400, 404 for an unknown policy, 405, 413 or 415.
// No decision is 503 with its outcome.
func (d *Decisions) Evaluate(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		answer.Refuse(http.StatusMethodNotAllowed, "Send a POST.").Write(w)
		return
	}
	req, refusal := d.request(w, r)
	if refusal.Status != 0 {
		refusal.Write(w)
		return
	}
	o := d.judge.Evaluate(r.Context(), req)
	a := answer.Of(o)
	switch {
	case answer.IsCallersFault(o):
		d.mend(req).Write(w)
	case !a.Decided:
		a.Write(w)
	default:
		writeEvaluated(w, a, decisionOf(o))
	}
}

// request reads the body and makes the question of it, or the refusal.
func (d *Decisions) request(w http.ResponseWriter, r *http.Request) (ratelimit.Request, answer.Answer) {
	none := ratelimit.Request{}
	if !sendsJSON(r.Header) {
		return none, answer.Refuse(http.StatusUnsupportedMediaType, "Send Content-Type: application/json, not compressed.")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return none, answer.Refuse(http.StatusRequestEntityTooLarge, "The body must be at most 65536 bytes.")
	}
	if err != nil {
		return none, answer.Refuse(http.StatusBadRequest, "The body could not be read to its end.")
	}
	q, err := parseQuestion(body)
	if err != nil {
		return none, answer.Refuse(http.StatusBadRequest, err.Error())
	}
	return d.asked(q)
}

// asked fills in the defaults and makes the subject's digest.
func (d *Decisions) asked(q question) (ratelimit.Request, answer.Answer) {
	req := ratelimit.Request{PolicyID: d.judge.Table().DefaultPolicy(), Cost: q.cost}
	if q.policy != nil {
		req.PolicyID = *q.policy
	}
	if q.subjectDigest != nil {
		req.SubjectDigest = *q.subjectDigest
		return req, answer.Answer{}
	}
	s, ok := d.subjectOf(q)
	if !ok {
		return req, answer.Refuse(http.StatusBadRequest, `subject: with subjectKind "ip" it must be an IPv4 or IPv6 address`)
	}
	req.SubjectDigest = d.judge.Digest(s)
	return req, answer.Answer{}
}

// mend is the answer to a request that the port cannot serve.
func (d *Decisions) mend(req ratelimit.Request) answer.Answer {
	policy, known := d.judge.Table().Policy(req.PolicyID)
	a := answer.Refuse(http.StatusBadRequest, "The policy cannot serve this request.")
	switch {
	case !known:
		a = answer.Refuse(http.StatusNotFound, "policy: no policy has that id")
	case req.Cost > policy.MaxCost():
		a = answer.Refuse(http.StatusBadRequest,
			"cost: it must be at most "+strconv.FormatInt(policy.MaxCost(), 10)+", the policy's maximum")
	}
	a.Problem.Outcome = ratelimit.KindIncompatible.String()
	return a
}

func (d *Decisions) subjectOf(q question) (subject.Subject, bool) {
	if q.kind == subject.KindIP {
		return d.judge.Resolver().Address(*q.subject)
	}
	return subject.Name(*q.subject), true
}

func sendsJSON(h http.Header) bool {
	types := h["Content-Type"]
	if len(types) != 1 || len(h["Content-Encoding"]) > 0 {
		return false
	}
	media, params, err := mime.ParseMediaType(types[0])
	charset, given := params["charset"]
	return err == nil && media == "application/json" && (!given || strings.EqualFold(charset, "utf-8"))
}

// evaluated is the body of a 200.
type evaluated struct {
	Outcome          string              `json:"outcome"`
	Allowed          bool                `json:"allowed"`
	Limit            int64               `json:"limit"`
	Remaining        int64               `json:"remaining"`
	RetryAfterMillis int64               `json:"retryAfterMillis"`
	ResetAfterMillis int64               `json:"resetAfterMillis"`
	ResetAtMillis    int64               `json:"resetAtMillis"`
	ObservedAtMillis int64               `json:"observedAtMillis"`
	Policy           policyRef           `json:"policy"`
	Source           ratelimit.Source    `json:"source"`
	Certainty        ratelimit.Certainty `json:"certainty"`
}

type policyRef struct {
	ID       string `json:"id"`
	Revision int64  `json:"revision"`
}

func writeEvaluated(w http.ResponseWriter, a answer.Answer, d ratelimit.Decision) {
	body, err := json.Marshal(evaluated{
		Outcome:          ratelimit.KindEvaluated.String(),
		Allowed:          d.Allowed,
		Limit:            a.Limit,
		Remaining:        a.Remaining,
		RetryAfterMillis: ratelimit.Span(d.RetryAfter.Milliseconds()).Milliseconds(),
		ResetAfterMillis: d.ResetAfter().Milliseconds(),
		ResetAtMillis:    d.ResetAtMillis,
		ObservedAtMillis: d.ObservedAtMillis,
		Policy:           policyRef{ID: d.PolicyID, Revision: d.PolicyRevision},
		Source:           d.Source,
		Certainty:        d.Certainty,
	})
	if err != nil {
		panic(err) // strings, integers and a bool only
	}
	a.RetryAfterSeconds = 0 // this response is no denial; the body says when to come again
	a.SetHeaders(w.Header())
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	_, _ = w.Write(append(body, '\n')) // a client that is gone is told nothing
}

// decisionOf is the decision of an evaluated outcome, else the zero Decision.
func decisionOf(o ratelimit.Outcome) ratelimit.Decision {
	return ratelimit.Match(o,
		func(e ratelimit.Evaluated) ratelimit.Decision { return e.Decision },
		func(ratelimit.Unavailable) ratelimit.Decision { return ratelimit.Decision{} },
		func(ratelimit.Indeterminate) ratelimit.Decision { return ratelimit.Decision{} },
		func(ratelimit.Incompatible) ratelimit.Decision { return ratelimit.Decision{} })
}
