package handler

import (
	"net/http"
	"strings"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/answer"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/edge"
)

// The endpoints' paths.
const (
	EvaluatePath  = "/v1/rate-limit/evaluate"
	AuthorizePath = "/v1/rate-limit/authorize" // and everything below
)

// Decisions serves the decision endpoints. It is safe for concurrent use.
type Decisions struct{ judge *edge.Judge }

// New makes the endpoints that decide by j.
func New(j *edge.Judge) *Decisions { return &Decisions{judge: j} }

// Mount serves both endpoints at their paths, and next everything else. It is a
// middleware, so that a router's list of known methods does not narrow "any
// method": in chi, r.Use(decisions.Mount).
func (d *Decisions) Mount(next http.Handler) http.Handler {
	authorize := d.MountAuthorize(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == EvaluatePath {
			d.Evaluate(w, r)
			return
		}
		authorize.ServeHTTP(w, r)
	})
}

// MountAuthorize is Mount with authorize alone.
func (d *Decisions) MountAuthorize(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := authorizeSuffix(r); ok {
			d.Authorize(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// NotFound answers 404 as application/problem+json.
func NotFound(w http.ResponseWriter, _ *http.Request) {
	answer.Refuse(http.StatusNotFound, "There is nothing at this path.").Write(w)
}

// authorizeSuffix is the raw path that follows the endpoint's own, "" for none.
func authorizeSuffix(r *http.Request) (string, bool) {
	suffix, ok := strings.CutPrefix(r.URL.EscapedPath(), AuthorizePath)
	return suffix, ok && (suffix == "" || suffix[0] == '/')
}
