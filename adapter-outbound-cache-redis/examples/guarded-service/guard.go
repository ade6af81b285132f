package main

import (
	"context"
	"io"
	"net/http"
	"net/netip"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/subject"
)

// guard asks the port before each request and lets through what it allows. The
// deadline leaves the port its whole budget.
func guard(port ratelimit.EdgeRateLimitPort, digester subject.Digester, budget time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), budget+25*time.Millisecond)
		defer cancel()
		who, err := clientOf(r)
		if err != nil {
			http.Error(w, "no client address", http.StatusBadRequest)
			return
		}
		outcome := port.Evaluate(ctx, ratelimit.Request{PolicyID: "reports", SubjectDigest: digester.Digest(who), Cost: 1})
		if !outcome.Allows() {
			http.Error(w, "not now", statusOf(outcome))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// clientOf limits by the address that connects. Behind a proxy, or with accounts,
// take what the proxy or the login vouches for; never what the client may choose.
func clientOf(r *http.Request) (subject.Subject, error) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return subject.Subject{}, err
	}
	return subject.IP(peer.Addr(), 64)
}

// statusOf tells a denial from a failure.
func statusOf(o ratelimit.Outcome) int {
	return ratelimit.Match(o,
		func(ratelimit.Evaluated) int { return http.StatusTooManyRequests },
		func(ratelimit.Unavailable) int { return http.StatusServiceUnavailable },
		func(ratelimit.Indeterminate) int { return http.StatusServiceUnavailable },
		func(ratelimit.Incompatible) int { return http.StatusServiceUnavailable })
}

func report(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the report\n") }
