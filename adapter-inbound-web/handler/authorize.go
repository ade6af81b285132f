package handler

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/answer"
)

// description names the two headers in which a kind of proxy describes the
// request that it asks about.
type description struct{ method, uri string }

var descriptions = [...]description{
	{"X-Forwarded-Method", "X-Forwarded-Uri"}, // Traefik, Caddy
	{"X-Original-Method", "X-Original-Uri"},   // nginx, by configuration
}

// Authorize says whether a request may pass: exactly 200 with an empty body, 429
// or 503 like the gateway, 400 for what cannot be judged. It serves any method
// and never reads the body.
//
// A trusted peer asks for another: the client is found through its
// X-Forwarded-For or subject header, and method and path come from the headers of
// one of the descriptions, else they are r's own method and what follows the
// endpoint's path. Two descriptions must agree, and a header must be sent once:
// the proxy writes one, and the other would be its client's. Any other peer is
// judged as itself, by its own method and that rest of the path.
func (d *Decisions) Authorize(w http.ResponseWriter, r *http.Request) {
	method, target, problem := d.described(r)
	if problem != "" {
		answer.Refuse(http.StatusBadRequest, problem).Write(w)
		return
	}
	a := d.judge.Judge(r, method, target)
	if a.Allows() {
		w.Header().Set("Cache-Control", "no-store") // charged each time
	}
	a.Write(w)
}

func (d *Decisions) described(r *http.Request) (method string, target *url.URL, problem string) {
	method = r.Method
	suffix, _ := authorizeSuffix(r)
	uri := suffix
	if uri == "" {
		uri = "/"
	}
	if d.judge.Resolver().TrustsPeer(r) {
		var told int
		for _, headers := range descriptions {
			m, ok1 := atMostOne(r, headers.method)
			u, ok2 := atMostOne(r, headers.uri)
			if !ok1 || !ok2 {
				return "", nil, "A header that describes the request must be sent once: " + headers.method + ", " + headers.uri + "."
			}
			if m == "" && u == "" {
				continue
			}
			m, u = orElse(m, r.Method), orElse(u, uri)
			if told++; told > 1 && (m != method || u != uri) {
				return "", nil, "X-Forwarded-Method and -Uri contradict X-Original-Method and -URI; send one pair."
			}
			method, uri = m, u
		}
	}
	target, err := url.ParseRequestURI(uri)
	if err != nil {
		return "", nil, "The described URI is not a path such as /search?q=1."
	}
	return method, target, ""
}

// atMostOne is the header's value, "" when it is absent or empty. False means
// that it was sent more than once.
func atMostOne(r *http.Request, name string) (string, bool) {
	lines := r.Header[name]
	if len(lines) == 0 {
		return "", true
	}
	return strings.Trim(lines[0], " \t"), len(lines) == 1
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// isDescribed tells whether r carries a description. A web page cannot add one
// to a request across sites.
func isDescribed(r *http.Request) bool {
	for _, headers := range descriptions {
		if len(r.Header[headers.method]) > 0 || len(r.Header[headers.uri]) > 0 {
			return true
		}
	}
	return false
}
