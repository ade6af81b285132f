package middleware

import (
	"net/http"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/edge"
)

// Edge lets through what j allows and answers the rest: 400 for an ambiguous path
// or sender, 429, or 503. Requests reach next without the headers that only
// trusted peers may send.
//
// On an allowed response the X-RateLimit-* fields are the limiter's, whatever next
// says, and a Retry-After of next's own is removed; its Cache-Control stays. Two
// middlewares of this package may stand behind each other: both charge, and the
// client is told the tighter answer, the outer one's on a tie.
//
// A handler that hijacks the connection writes its own head. A reverse proxy
// should use [answer.StripResponse] for that case.
//
// No middleware that rewrites RemoteAddr from headers may stand before this one.
func Edge(j *edge.Judge) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conclude(verdict{j.Judge(r, r.Method, r.URL), true}, j.Resolver(), next, w, r)
		})
	}
}
