package middleware

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/answer"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
)

// verdict is what one middleware says of a request.
type verdict struct {
	answer answer.Answer
	byEdge bool // the edge port was asked, and charged if the answer allows
}

// conclude answers, or runs next behind a writer that says v, or what a limiter
// further in makes of it.
func conclude(v verdict, resolver identity.Resolver, next http.Handler, w http.ResponseWriter, r *http.Request) {
	outer := toldOf(r)
	if outer != nil {
		v.answer = outer.tighten(v.answer)
	}
	if !v.answer.Allows() {
		v.answer.Write(w)
		return
	}
	r = resolver.Scrub(r)
	if outer != nil {
		if v.byEdge {
			outer.charged.Store(true)
		}
		next.ServeHTTP(w, r)
		return
	}
	t := newTold(v)
	t.setHeaders(w.Header()) // for the handler to read
	wrapped := &writer{ResponseWriter: w, told: t}
	next.ServeHTTP(wrapped.optional(), r.WithContext(context.WithValue(r.Context(), toldKey{}, t)))
	// A handler that wrote nothing is answered from the header as it is now, and
	// trailers are sent from it.
	t.setHeaders(w.Header())
}

// told is what the client of one request will be told. The outermost middleware
// makes it, those further in tighten it, the writer reads it. It is apart from the
// writer, which a handler must not keep alive by keeping its context.
type told struct {
	now     atomic.Pointer[statement]
	first   statement   // now, until it is tightened
	charged atomic.Bool // the edge port has charged for the request
}

// statement is an answer and the header fields that say it.
type statement struct {
	answer answer.Answer
	fields answer.Fields
}

type toldKey struct{}

// toldOf is what a middleware further out has made for r, or nil.
func toldOf(r *http.Request) *told {
	t, _ := r.Context().Value(toldKey{}).(*told)
	return t
}

func newTold(v verdict) *told {
	t := &told{first: statement{v.answer, v.answer.Fields()}}
	t.now.Store(&t.first)
	t.charged.Store(v.byEdge)
	return t
}

// tighten takes a further answer into account and returns what is told now.
func (t *told) tighten(a answer.Answer) answer.Answer {
	a = t.now.Load().answer.Tighter(a)
	t.now.Store(&statement{a, a.Fields()})
	return a
}

// setHeaders makes h, the header of the request's one response, say it.
func (t *told) setHeaders(h http.Header) { t.now.Load().fields.SetHeaders(h) }
