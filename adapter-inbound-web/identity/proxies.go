package identity

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/edgelimit/edgelimit/shared-contract/subject"
)

// MaxExamined is how many entries of X-Forwarded-For are looked at, from the
// right. A longer chain of trusted proxies ends there.
const MaxExamined = 32

const forwardedFor = "X-Forwarded-For"

// Proxies are the peers whose word counts. The zero Proxies trusts nobody.
type Proxies struct{ prefixes []netip.Prefix }

// ParseProxies reads addresses and prefixes in CIDR form ("10.0.0.0/8", "::1").
// A prefix within the IPv4-mapped range or 64:ff9b::/96 means the IPv4 addresses
// that it embeds. The error lists every text that is neither.
func ParseProxies(texts []string) (Proxies, error) {
	var (
		prefixes []netip.Prefix
		errs     []error
	)
	for i, text := range texts {
		prefix, err := parsePrefix(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("trusted proxy %d: %q is neither an address nor a prefix such as 10.0.0.0/8", i+1, text))
			continue
		}
		prefixes = append(prefixes, prefix)
	}
	return Proxies{prefixes: prefixes}, errors.Join(errs...)
}

func parsePrefix(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		addr, err := netip.ParseAddr(text)
		if err != nil || addr.Zone() != "" {
			return netip.Prefix{}, errors.New("no address")
		}
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	prefix = prefix.Masked()
	if inner := subject.Unembed(prefix.Addr()); inner.Is4() && prefix.Addr().Is6() && prefix.Bits() >= 96 {
		prefix = netip.PrefixFrom(inner, prefix.Bits()-96)
	}
	return prefix, nil
}

// TrustsPeer tells whether the other end of r's connection is trusted. A peer
// without an address, such as one on a Unix socket, is not.
func (p Proxies) TrustsPeer(r *http.Request) bool {
	if len(p.prefixes) == 0 {
		return false
	}
	peer, ok := ParseAddr(r.RemoteAddr)
	return ok && p.trusts(peer)
}

// ClientIP is the address of the client, in canonical form. It is the peer's,
// unless the peer is trusted: then it is the rightmost address of X-Forwarded-For
// (all its lines, in order) that is not trusted itself, or the leftmost if all
// are. At most MaxExamined entries are looked at; one that is no address, an empty
// one included, ends the walk at the last trusted hop. False means that the peer
// has no address, so nobody can be limited.
func (p Proxies) ClientIP(r *http.Request) (netip.Addr, bool) {
	t := p.trailOf(r)
	if t.n == 0 {
		return netip.Addr{}, false
	}
	return t.hops[t.n-1], true
}

// Chain is what may be told about r's way here: the client first, then every
// trusted hop, the peer last. It is empty when the peer has no address.
func (p Proxies) Chain(r *http.Request) []netip.Addr {
	t := p.trailOf(r)
	chain := make([]netip.Addr, 0, t.n)
	for i := t.n - 1; i >= 0; i-- {
		chain = append(chain, t.hops[i])
	}
	return chain
}

// trail holds the peer and what the trusted hops reported, nearest first. All
// but the last are trusted.
type trail struct {
	hops [1 + MaxExamined]netip.Addr
	n    int
}

func (t *trail) add(addr netip.Addr) {
	t.hops[t.n] = addr
	t.n++
}

func (p Proxies) trailOf(r *http.Request) (t trail) {
	peer, ok := ParseAddr(r.RemoteAddr)
	if !ok {
		return t
	}
	t.add(peer)
	if p.trusts(peer) {
		p.follow(&t, r.Header[forwardedFor])
	}
	return t
}

// follow walks the lines from the right. Cutting from the end keeps the work
// bounded however long the left part is, which anybody may have written.
func (p Proxies) follow(t *trail, lines []string) {
	for i := len(lines) - 1; i >= 0; i-- {
		for rest, more := lines[i], true; more; {
			if t.n == len(t.hops) {
				return
			}
			var entry string
			rest, entry, more = cutLast(rest)
			addr, ok := ParseAddr(strings.Trim(entry, " \t"))
			if !ok {
				return
			}
			t.add(addr)
			if !p.trusts(addr) {
				return
			}
		}
	}
}

func (p Proxies) trusts(addr netip.Addr) bool {
	for _, prefix := range p.prefixes {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

func cutLast(s string) (before, last string, found bool) {
	i := strings.LastIndexByte(s, ',')
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+1:], true
}
