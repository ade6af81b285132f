package identity

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/edgelimit/edgelimit/shared-contract/subject"
)

// DefaultIPv6PrefixBits is the usual size of what one customer owns.
const DefaultIPv6PrefixBits = 64

// MaxSubjectLen is the longest value of a subject header, in bytes.
const MaxSubjectLen = 256

// Why a request has no subject. Each is the sender's fault: 400.
var (
	ErrNoPeer          = errors.New("the connection has no client address")
	ErrSubjectRepeated = errors.New("the subject header must be one line")
	ErrSubjectTooLong  = errors.New("the subject header must be at most 256 bytes")
)

// Config is what a [Resolver] is made of.
type Config struct {
	// Proxies are the peers whose forwarded and subject headers count. The zero
	// value trusts nobody: every client is limited by its own address.
	Proxies Proxies

	// IPv6PrefixBits is how much of an IPv6 address counts, 0 to 128. There is
	// no default: 0 makes all of IPv6 one subject, DefaultIPv6PrefixBits is the
	// usual choice.
	IPv6PrefixBits int

	// SubjectHeader names the header in which trusted proxies say who the
	// client is. Empty means that clients are limited by address.
	SubjectHeader string

	// Principal names the headers in which trusted proxies say who was
	// authenticated, for the limiter of tenants and users.
	Principal PrincipalHeaders
}

// Resolver finds the subject of a request. It is safe for concurrent use; the
// zero Resolver is not valid.
type Resolver struct {
	proxies   Proxies
	bits      int
	header    string
	principal PrincipalHeaders
	names     []string // the headers above that count from trusted peers only, with hyphens
	valid     bool
}

// unusableHeaders are managed by the connection or by this package, and cannot
// carry a name.
var unusableHeaders = []string{"Connection", "Content-Length", "Forwarded", "Host", "Keep-Alive", "Proxy-Connection",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", forwardedFor}

// NewResolver checks c, or returns one error that lists every violation.
func NewResolver(c Config) (Resolver, error) {
	var errs []error
	if c.IPv6PrefixBits < 0 || c.IPv6PrefixBits > 128 {
		errs = append(errs, fmt.Errorf("IPv6 prefix of %d bits is outside 0 to 128", c.IPv6PrefixBits))
	}
	header := http.CanonicalHeaderKey(c.SubjectHeader)
	if err := nameFault("subject header", header); err != nil {
		errs = append(errs, err)
	}
	principal, faults := c.Principal.canonical()
	if errs = append(errs, faults...); len(errs) > 0 {
		return Resolver{}, errors.Join(errs...)
	}
	v := Resolver{proxies: c.Proxies, bits: c.IPv6PrefixBits, header: header, principal: principal, valid: true}
	for _, name := range []string{header, principal.Tenant, principal.User, principal.Key} {
		if name != "" {
			v.names = append(v.names, strings.ReplaceAll(name, "_", "-"))
		}
	}
	return v, nil
}

// nameFault says what keeps a header in canonical form from carrying a name.
// Empty is no header, and no fault.
func nameFault(what, header string) error {
	switch {
	case header == "":
		return nil
	case !validToken(header):
		return fmt.Errorf("%s %q is not a header name", what, header)
	case slices.Contains(unusableHeaders, header):
		return fmt.Errorf("%s %q cannot carry a name", what, header)
	}
	return nil
}

// IsZero tells whether v is the zero Resolver.
func (v Resolver) IsZero() bool { return !v.valid }

// TrustsPeer is [Proxies.TrustsPeer].
func (v Resolver) TrustsPeer(r *http.Request) bool { return v.proxies.TrustsPeer(r) }

// Subject is who sent r: the name in the subject header if there is such a
// header, the peer is trusted and the value is not empty; else the client's
// address. The error is ErrNoPeer, ErrSubjectRepeated or ErrSubjectTooLong.
func (v Resolver) Subject(r *http.Request) (subject.Subject, error) {
	if v.header != "" && v.proxies.TrustsPeer(r) {
		name, err := oneName(r.Header[v.header])
		if err != nil {
			return subject.Subject{}, err
		}
		if name != "" {
			return subject.Name(name), nil
		}
	}
	addr, ok := v.proxies.ClientIP(r)
	if !ok {
		return subject.Subject{}, ErrNoPeer
	}
	return subject.IP(addr, v.bits)
}

// Address is the subject of an address given as text, read and cut to its prefix
// exactly as a client's address is. False means that text is no address.
func (v Resolver) Address(text string) (subject.Subject, bool) {
	addr, ok := ParseAddr(text)
	if !ok {
		return subject.Subject{}, false
	}
	s, err := subject.IP(addr, v.bits)
	return s, err == nil
}

func oneName(lines []string) (string, error) {
	if len(lines) == 0 {
		return "", nil
	}
	if len(lines) > 1 {
		return "", ErrSubjectRepeated
	}
	name := strings.Trim(lines[0], " \t")
	if len(name) > MaxSubjectLen {
		return "", ErrSubjectTooLong
	}
	return name, nil
}

func validToken(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}
