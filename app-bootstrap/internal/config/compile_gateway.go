package config

import (
	"errors"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

func (c *compiler) gateway(given rawGateway, server rawServer) Gateway {
	upstream, err := parseUpstream(given.Upstream)
	if err != nil {
		c.refuse(keyUpstream, "%v", err)
	}
	c.noLoop(upstream, keyListen, server.Listen)
	c.noLoop(upstream, keyAdminListen, server.AdminListen)
	c.oneOf(keyRawPaths, given.RawPaths, "reject", "forward")
	return Gateway{
		Upstream:        upstream,
		SubjectHeader:   c.subjectHeader(given.Subject, server.TrustedProxies),
		ForwardRawPaths: given.RawPaths == "forward",
	}
}

// noLoop refuses an upstream that is a listener of this program: a request would
// come back to it without end.
func (c *compiler) noLoop(upstream *url.URL, key, listen string) {
	own, err := parseListener(listen)
	if upstream == nil || err != nil {
		return
	}
	port, ok := parsePort(upstream.Port())
	if !ok {
		port = map[string]uint16{"http": 80, "https": 443}[upstream.Scheme]
	}
	if own.reachedAt(listener{host: upstream.Hostname(), port: port}) {
		c.refuse(keyUpstream, "is the address of %s: name the service behind", key)
	}
}

// parseUpstream answers nil for "". Its errors do not repeat the text.
func parseUpstream(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || !validHostPort(u):
		return nil, errors.New("must be an http or https URL with a host, as in http://127.0.0.1:9000")
	case u.User != nil:
		return nil, errors.New("must not hold a user or a password: remove what stands before the @")
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		return nil, errors.New("must not have a query or a fragment: end it with the path")
	}
	return u, nil
}

// validHostPort tells whether u has a host, and if it has a port, one of 1 to
// 65535.
func validHostPort(u *url.URL) bool {
	if !validHost(u.Hostname()) || strings.HasSuffix(u.Host, ":") {
		return false
	}
	if u.Port() == "" {
		return true
	}
	port, ok := parsePort(u.Port())
	return ok && port != 0
}

var token = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// notSubjects are the headers that mean something else to HTTP, to a proxy or to
// this program, canonical.
var notSubjects = []string{
	"Authorization", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Cookie", "Cookie2",
	"Expect", "Forwarded", "Host", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
	"Retry-After", "Set-Cookie", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Via", "X-Real-Ip",
}

// notSubjectPrefixes are families of such headers.
var notSubjectPrefixes = []string{"X-Forwarded-", "X-Original-", "X-Ratelimit-", "Sec-"}

func (c *compiler) subjectHeader(given rawSubject, trusted []string) string {
	if !c.oneOf(keySubjectFrom, given.From, "client-ip", "header") {
		return ""
	}
	if given.From == "client-ip" {
		if given.Header != "" {
			c.refuse(keySubjectHeader, "is not used with from: client-ip: remove it, or write from: header")
		}
		return ""
	}
	if given.Header == "" {
		c.refuse(keySubjectHeader, "is missing: name the header that holds the subject, as in X-Client-Id")
		return ""
	}
	name, ok := c.header(keySubjectHeader, given.Header, "X-Client-Id")
	if ok && len(trusted) == 0 {
		c.warn(keySubjectHeader, "never counts, because %s is empty: every subject is the client's address", keyTrustedProxies)
	}
	return name
}

// header checks the name of a header that tells who sent a request, and answers
// it in canonical form.
func (c *compiler) header(key, text, example string) (string, bool) {
	name := textproto.CanonicalMIMEHeaderKey(text)
	reserved := slices.Contains(notSubjects, name) || slices.ContainsFunc(notSubjectPrefixes, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
	switch {
	case !token.MatchString(text) || len(text) > 64:
		c.refuse(key, "must be a header's name of at most 64 characters, as in %s; it is %s", example, shown(text))
		return name, false
	case reserved:
		c.refuse(key, "must not be %s, which has a meaning of its own: use a header that your proxy sets for this, as in %s", name, example)
		return name, false
	}
	return name, true
}
