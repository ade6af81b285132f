package identity

import (
	"net/netip"
	"strings"

	"github.com/edgelimit/edgelimit/shared-contract/subject"
)

// maxAddressLen bounds the text of one address: 45 characters of IPv6, brackets,
// a port, and a zone of ordinary length.
const maxAddressLen = 80

// ParseAddr reads one address as proxies write it: plain, with a port
// (203.0.113.7:1234), in brackets ([2001:db8::1]) or both ([2001:db8::1]:99). The
// port is dropped, and so is a zone; an address that embeds an IPv4 address
// (IPv4-mapped, or 64:ff9b::/96) is that IPv4 address. Anything else, such as a
// name, "unknown" or an obfuscated identifier, is not an address.
func ParseAddr(text string) (netip.Addr, bool) {
	if len(text) > maxAddressLen {
		return netip.Addr{}, false
	}
	bracketed := strings.HasPrefix(text, "[")
	if bracketed && strings.HasSuffix(text, "]") {
		addr, err := netip.ParseAddr(text[1 : len(text)-1])
		return subject.Unembed(addr), err == nil && addr.Is6()
	}
	if bracketed || strings.Count(text, ":") == 1 {
		pair, err := netip.ParseAddrPort(text)
		return subject.Unembed(pair.Addr()), err == nil
	}
	addr, err := netip.ParseAddr(text)
	return subject.Unembed(addr), err == nil
}
