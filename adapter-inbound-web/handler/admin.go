package handler

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/answer"
)

// MinTokenLen is the least number of bytes in an admin token.
const MinTokenLen = 32

// openPaths need no token: whatever keeps the process alive asks them.
var openPaths = []string{"/healthz", "/readyz"}

// Admin guards the admin listener.
//
// With a token, everything but /healthz and /readyz demands it as a bearer token
// (401). Without one, for a listener on loopback, evaluate demands a Host that is
// loopback too (403), so that no page can reach it under a name of its own.
//
// With or without, a browser's request from another site is refused (403) if its
// method is not a safe one or it would be charged. A proxy that asks authorize
// about such a request describes it in headers, which no page can do, and passes.
//
// The error says that the token is too short; nil is no token.
func Admin(token []byte) (func(http.Handler) http.Handler, error) {
	if token != nil && len(token) < MinTokenLen {
		return nil, fmt.Errorf("the admin token has %d bytes; it needs at least %d", len(token), MinTokenLen)
	}
	g := guard{demanded: token != nil, token: sha256.Sum256(token)}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if a, refused := g.refusal(r); refused {
				if a.Status == http.StatusUnauthorized {
					w.Header().Set("WWW-Authenticate", `Bearer realm="edgelimit admin"`)
				}
				a.Write(w)
				return
			}
			next.ServeHTTP(w, r)
		})
	}, nil
}

type guard struct {
	demanded bool
	token    [sha256.Size]byte
}

func (g guard) refusal(r *http.Request) (answer.Answer, bool) {
	if slices.Contains(openPaths, r.URL.Path) {
		return answer.Answer{}, false
	}
	_, asks := authorizeSuffix(r)
	evaluates := r.URL.Path == EvaluatePath
	described := asks && isDescribed(r)
	switch {
	case g.demanded && !g.accepts(r.Header["Authorization"]):
		return answer.Refuse(http.StatusUnauthorized, "Send the admin token: Authorization: Bearer <token>."), true
	case !g.demanded && evaluates && !loopbackHost(r.Host):
		return answer.Refuse(http.StatusForbidden, "The Host must be localhost or a loopback address."), true
	case (asks || evaluates || !safe(r.Method)) && crossSite(r) && !described:
		return answer.Refuse(http.StatusForbidden, "Requests from pages of another site are refused."), true
	}
	return answer.Answer{}, false
}

// accepts compares digests, in a time that depends on neither token.
func (g guard) accepts(lines []string) bool {
	if len(lines) != 1 {
		return false
	}
	scheme, token, _ := strings.Cut(lines[0], " ")
	sum := sha256.Sum256([]byte(strings.Trim(token, " ")))
	return subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// crossSite tells whether a browser sent r for a page of another site or origin.
// Other clients send neither header.
func crossSite(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		return true
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host)
}

func loopbackHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.Unmap().IsLoopback()
}
