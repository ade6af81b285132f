package identity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"

	"github.com/edgelimit/edgelimit/shared-contract/subject"
)

// Principal is who was authenticated: a tenant, and within it a user or a key. Its
// values are ids, used verbatim; a key id is never the API key itself. The zero
// Principal is anonymous: its client's address is all that is known.
type Principal struct {
	Tenant string
	User   string
	Key    string // counts where User is empty
}

// IsAnonymous tells whether nobody was authenticated.
func (p Principal) IsAnonymous() bool { return p == Principal{} }

type principalKey struct{}

// WithPrincipal is ctx with the principal that a service's own authentication
// found. It rules out every header, also when p is anonymous.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom is what WithPrincipal put into ctx; false if it put nothing.
func PrincipalFrom(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(Principal)
	return p, ok
}

// PrincipalHeaders name the headers in which trusted proxies say who was
// authenticated. An empty name is a header that nobody sends; all empty means that
// every client is anonymous, unless its request's context knows better.
type PrincipalHeaders struct {
	Tenant string
	User   string // needs Tenant
	Key    string // needs Tenant
}

// Why a request has no principal. Each is the sender's fault: 400.
var (
	ErrPrincipalRepeated = errors.New("a header that names the tenant, user or key must be one line")
	ErrPrincipalTooLong  = errors.New("a header that names the tenant, user or key must be at most 256 bytes")
	ErrNoTenant          = errors.New("a user or key must have a tenant")
)

// Principal is who sent r: what its context says, else what the headers of a
// trusted peer say, in which a value that is absent or empty is absent. The error
// is ErrPrincipalRepeated, ErrPrincipalTooLong or ErrNoTenant.
func (v Resolver) Principal(r *http.Request) (Principal, error) {
	p, known := PrincipalFrom(r.Context())
	if !known && v.principal != (PrincipalHeaders{}) && v.proxies.TrustsPeer(r) {
		for _, field := range []struct {
			header string
			value  *string
		}{{v.principal.Tenant, &p.Tenant}, {v.principal.User, &p.User}, {v.principal.Key, &p.Key}} {
			name, err := oneName(r.Header[field.header])
			switch {
			case errors.Is(err, ErrSubjectRepeated):
				return Principal{}, ErrPrincipalRepeated
			case err != nil:
				return Principal{}, ErrPrincipalTooLong
			}
			*field.value = name
		}
	}
	if p.Tenant == "" && !p.IsAnonymous() {
		return Principal{}, ErrNoTenant
	}
	return p, nil
}

// Client is the part of the client's address that counts: an IPv4 address whole,
// an IPv6 address by its prefix. The error is ErrNoPeer.
func (v Resolver) Client(r *http.Request) (netip.Prefix, error) {
	addr, ok := v.proxies.ClientIP(r)
	if !ok {
		return netip.Prefix{}, ErrNoPeer
	}
	addr = subject.Unembed(addr)
	bits := v.bits
	if addr.Is4() {
		bits = addr.BitLen()
	}
	return netip.PrefixFrom(addr, bits).Masked(), nil
}

// canonical is h in canonical form, or one error for each violation.
func (h PrincipalHeaders) canonical() (PrincipalHeaders, []error) {
	var errs []error
	seen := map[string]string{}
	for _, field := range []struct {
		what string
		name *string
	}{{"tenant header", &h.Tenant}, {"user header", &h.User}, {"key header", &h.Key}} {
		*field.name = http.CanonicalHeaderKey(*field.name)
		if err := nameFault(field.what, *field.name); err != nil {
			errs = append(errs, err)
		}
		if first, taken := seen[*field.name]; taken && *field.name != "" {
			errs = append(errs, fmt.Errorf("%s %q is the %s too", field.what, *field.name, first))
		}
		seen[*field.name] = field.what
	}
	if h.Tenant == "" && h != (PrincipalHeaders{}) {
		errs = append(errs, errors.New("a user or key header needs a tenant header"))
	}
	return h, errs
}
