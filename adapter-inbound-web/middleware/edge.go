package middleware

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/answer"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/edge"
)

// Edge lets through what j allows and answers the rest: 400 for an ambiguous path
// or sender, 429, or 503. Requests reach next without the headers that only
// trusted peers may send.
//
// On an allowed response the X-RateLimit-* fields are the limiter's, whatever next
// says, and a Retry-After of next's own is removed; its Cache-Control stays. Two
// of these middlewares may stand behind each other: both charge, and the client
// is told the tighter answer, the outer one's on a tie.
//
// A handler that hijacks the connection writes its own head. A reverse proxy
// should use [answer.StripResponse] for that case.
//
// No middleware that rewrites RemoteAddr from headers may stand before this one.
func Edge(j *edge.Judge) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			serve(j, next, w, r)
		})
	}
}

func serve(j *edge.Judge, next http.Handler, w http.ResponseWriter, r *http.Request) {
	a := j.Judge(r, r.Method, r.URL)
	outer, nested := r.Context().Value(toldKey{}).(*told)
	if nested {
		a = outer.tighten(a)
	}
	if !a.Allows() {
		a.Write(w)
		return
	}
	r = j.Resolver().Scrub(r)
	if nested {
		next.ServeHTTP(w, r)
		return
	}
	serveTold(a, next, w, r)
}

// serveTold runs next behind a writer that says a, or what a limiter further in
// makes of it.
func serveTold(a answer.Answer, next http.Handler, w http.ResponseWriter, r *http.Request) {
	var t told
	t.answer.Store(&a)
	t.setHeaders(w.Header())
	wrapped := &writer{ResponseWriter: w, told: &t}
	next.ServeHTTP(wrapped.optional(), r.WithContext(context.WithValue(r.Context(), toldKey{}, &t)))
	// A handler that wrote nothing is answered from the header as it is now, and
	// trailers are sent from it.
	t.setHeaders(w.Header())
}

// told is what the client of one request will be told. The outermost middleware
// makes it, those further in tighten it, the writer reads it.
type told struct{ answer atomic.Pointer[answer.Answer] }

type toldKey struct{}

// tighten takes a further answer into account and returns what is told now.
func (t *told) tighten(a answer.Answer) answer.Answer {
	a = t.answer.Load().Tighter(a)
	t.answer.Store(&a)
	return a
}

func (t *told) setHeaders(h http.Header) { t.answer.Load().SetHeaders(h) }
