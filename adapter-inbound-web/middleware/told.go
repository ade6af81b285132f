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
	t := toldOf(r)
	nested := t != nil
	if !nested {
		t = &told{}
		t.answer.Store(&v.answer)
	} else {
		v.answer = t.tighten(v.answer)
	}
	if !v.answer.Allows() {
		v.answer.Write(w)
		return
	}
	if v.byEdge {
		t.charged.Store(true)
	}
	r = resolver.Scrub(r)
	if nested {
		next.ServeHTTP(w, r)
		return
	}
	t.setHeaders(w.Header())
	wrapped := &writer{ResponseWriter: w, told: t}
	next.ServeHTTP(wrapped.optional(), r.WithContext(context.WithValue(r.Context(), toldKey{}, t)))
	// A handler that wrote nothing is answered from the header as it is now, and
	// trailers are sent from it.
	t.setHeaders(w.Header())
}

// told is what the client of one request will be told. The outermost middleware
// makes it, those further in tighten it, the writer reads it.
type told struct {
	answer  atomic.Pointer[answer.Answer]
	charged atomic.Bool // the edge port has charged for the request
}

type toldKey struct{}

// toldOf is what a middleware further out has made for r, or nil.
func toldOf(r *http.Request) *told {
	t, _ := r.Context().Value(toldKey{}).(*told)
	return t
}

// tighten takes a further answer into account and returns what is told now.
func (t *told) tighten(a answer.Answer) answer.Answer {
	a = t.answer.Load().Tighter(a)
	t.answer.Store(&a)
	return a
}

func (t *told) setHeaders(h http.Header) { t.answer.Load().SetHeaders(h) }
