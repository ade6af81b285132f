package config

import (
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// maxSourceTTL is the longest time for which an answer is not asked for again.
const maxSourceTTL = 24 * time.Hour

// limitsSource checks the source of limits. Its token is read only if the limiter
// is on.
func (c *compiler) limitsSource(given rawLimitsSource, mode InboundMode) LimitsSource {
	c.durationIn(keySourceTTL, given.TTL, time.Second, maxSourceTTL)
	c.durationIn(keySourceTimeout, given.Timeout, time.Millisecond, 10*time.Second)
	if given.URL == "" {
		if given.TokenFile != "" {
			c.warn(keySourceTokenFile, "is not used: %s is missing", keySourceURL)
		}
		return LimitsSource{TTL: given.TTL, Timeout: given.Timeout}
	}
	at, err := parseSource(given.URL)
	if err != nil {
		c.refuse(keySourceURL, "%v", err)
	}
	if mode == ModeOff {
		c.warn(keySourceURL, "is not used: %s is off", keyInboundMode)
	}
	made := LimitsSource{URL: at, TTL: given.TTL, Timeout: given.Timeout}
	if given.TokenFile != "" && mode != ModeOff {
		made.Token = c.bearer(given.TokenFile)
	}
	return made
}

// parseSource's errors do not repeat the text.
func parseSource(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || !validHostPort(u):
		return nil, errors.New("must be an https URL with a host, as in https://limits.example/v1/limits")
	case u.User != nil:
		return nil, errors.New("must not hold a user or a password: write the token into a file and name it in " + keySourceTokenFile)
	case strings.Contains(text, "#"):
		return nil, errors.New("must not have a fragment: a server never sees it")
	case !validQuery(u):
		return nil, errors.New("must have a query of name=value pairs with & between them, percent-encoded")
	case u.Query().Has("tenant"):
		return nil, errors.New("must not have tenant in its query: it is asked with each tenant's id there")
	case u.Scheme == "http" && !loopbackHost(u.Hostname()):
		return nil, errors.New("must be https, unless its host is on loopback: the token and the limits cross the network")
	}
	return u, nil
}

// validQuery tells whether u's query can be read whole; u.Query passes over what
// cannot.
func validQuery(u *url.URL) bool {
	_, err := url.ParseQuery(u.RawQuery)
	return err == nil
}

func loopbackHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

var bearerForm = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

// bearer reads a token in the form of RFC 6750, section 2.1.
func (c *compiler) bearer(name string) Sensitive {
	content, ok := c.secretFile(keySourceTokenFile, name)
	token := trimNewline(content)
	if ok && !bearerForm.MatchString(token) {
		c.refuse(keySourceTokenFile, "names a file that holds no bearer token: one line of A-Z a-z 0-9 . _ ~ + / -, and = at its end")
	}
	return NewSensitive(token)
}
