package identity

import (
	"net/http"
	"slices"
	"strings"
)

// Scrub is r as the handlers behind may see it. If the peer is not trusted, its
// subject and principal headers and all that it says about another origin
// (Forwarded, X-Forwarded-*, X-Original-*, X-Real-IP) are gone, and so are their spellings
// with an underscore, which some servers read as the same header. r itself is not
// changed; it is returned as it is when there is nothing to remove.
func (v Resolver) Scrub(r *http.Request) *http.Request {
	if v.proxies.TrustsPeer(r) {
		return r
	}
	var header http.Header
	for name := range r.Header {
		if !v.claims(name) {
			continue
		}
		if header == nil {
			header = r.Header.Clone()
		}
		delete(header, name)
	}
	if header == nil {
		return r
	}
	scrubbed := r.WithContext(r.Context())
	scrubbed.Header = header
	return scrubbed
}

// Forward makes out, the header of the request to an upstream, say about in only
// what is known to be so. X-Forwarded-For is the validated chain, the client
// first. X-Forwarded-Host and -Proto are a trusted peer's own, else in's.
// X-Real-IP of a trusted peer becomes the client's address. Forwarded, which
// nobody here validates, is removed; so are the spellings with an underscore, and
// an untrusted peer's claims as by [Resolver.Scrub]. It fits httputil.ReverseProxy's Rewrite:
//
//	resolver.Forward(pr.Out.Header, pr.In)
func (v Resolver) Forward(out http.Header, in *http.Request) {
	trusted := v.proxies.TrustsPeer(in)
	for name := range out {
		if v.claims(name) && (!trusted || strings.Contains(name, "_")) {
			delete(out, name)
		}
	}
	host, proto := in.Host, "http"
	if in.TLS != nil {
		proto = "https"
	}
	if trusted {
		host = only(in.Header["X-Forwarded-Host"], host)
		proto = only(in.Header["X-Forwarded-Proto"], proto)
	}
	out.Set("X-Forwarded-Host", host)
	out.Set("X-Forwarded-Proto", proto)
	out.Del("Forwarded")
	out.Del(forwardedFor)

	chain := v.proxies.Chain(in)
	if len(chain) == 0 {
		return
	}
	text := make([]byte, 0, 64)
	for i, addr := range chain {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = addr.AppendTo(text)
	}
	out.Set(forwardedFor, string(text))
	if len(out["X-Real-Ip"]) > 0 {
		out.Set("X-Real-Ip", chain[0].String())
	}
}

// claims tells whether a header says who or what a request is on another's
// behalf. Such a header counts from trusted peers only.
func (v Resolver) claims(name string) bool {
	name = strings.ReplaceAll(name, "_", "-")
	return hasPrefixFold(name, "X-Forwarded-") || hasPrefixFold(name, "X-Original-") ||
		strings.EqualFold(name, "Forwarded") || strings.EqualFold(name, "X-Real-Ip") ||
		slices.ContainsFunc(v.names, func(own string) bool { return strings.EqualFold(name, own) })
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func only(lines []string, otherwise string) string {
	if len(lines) == 1 && lines[0] != "" {
		return lines[0]
	}
	return otherwise
}
