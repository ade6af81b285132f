// Package subject names who is limited without naming them: it turns an
// identity into the pseudonymous digest that the port takes. A service that
// imports the port and the gateway in front of it name the same subject alike
// when they share a secret.
package subject

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"net/netip"
	"sync"

	"github.com/edgelimit/edgelimit/shared-contract/secret"
)

// Kind is what sort of identity a value is. Equal text of two kinds is two
// subjects.
type Kind string

// The kinds.
const (
	KindIP   Kind = "ip"
	KindName Kind = "name"
)

// Subject is an identity in its canonical form, so that equal subjects are ==.
// The zero Subject is nobody: it has no digest.
type Subject struct {
	kind    Kind
	name    string       // of KindName
	network netip.Prefix // of KindIP: one IPv4 address, or a masked IPv6 prefix
}

// String is the kind alone: an identity does not print itself.
func (s Subject) String() string { return string(s.kind) + " subject" }

// Name is a subject by name, used verbatim: a client id, an account, a key id.
func Name(value string) Subject { return Subject{kind: KindName, name: value} }

// IP is a subject by address: an IPv4-mapped address and one within
// 64:ff9b::/96 (RFC 6052) are their IPv4 address, a zone is dropped, and IPv6
// counts by its first ipv6PrefixBits bits (0 to 128; one customer commonly owns
// a /64). The prefix is checked whatever the address is, so that a wrong one
// does not wait for the first IPv6 client.
func IP(addr netip.Addr, ipv6PrefixBits int) (Subject, error) {
	if !addr.IsValid() {
		return Subject{}, errors.New("subject: no address")
	}
	if ipv6PrefixBits < 0 || ipv6PrefixBits > 128 {
		return Subject{}, fmt.Errorf("subject: an IPv6 prefix of %d bits is outside 0 to 128", ipv6PrefixBits)
	}
	addr = Unembed(addr)
	bits := ipv6PrefixBits
	if addr.Is4() {
		bits = addr.BitLen()
	}
	return Subject{kind: KindIP, network: netip.PrefixFrom(addr, bits).Masked()}, nil
}

// appendText appends what the digest is over: a name, an IPv4 address, or an IPv6
// prefix such as 2001:db8::/64.
func (s Subject) appendText(b []byte) []byte {
	switch {
	case s.kind == KindName:
		return append(b, s.name...)
	case s.network.Addr().Is4():
		return s.network.Addr().AppendTo(b)
	default:
		return s.network.AppendTo(b)
	}
}

var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// Unembed is addr without a zone, and the IPv4 address within it where it
// embeds one (IPv4-mapped, or 64:ff9b::/96).
func Unembed(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if nat64.Contains(addr) {
		bytes := addr.As16()
		return netip.AddrFrom4([4]byte(bytes[12:]))
	}
	return addr
}

// Digester makes digests under one key. It is safe for concurrent use; the zero
// Digester is not valid.
type Digester struct{ macs *sync.Pool }

// scratch is what one digest is made with, and then the next.
type scratch struct {
	hash.Hash
	input []byte
	sum   [sha256.Size]byte
}

// maxKept is the largest input whose memory is used again.
const maxKept = 1 << 10

// forget leaves nothing of an identity in m, and of a long one no memory.
func (m *scratch) forget() {
	m.Reset()
	clear(m.input)
	if cap(m.input) > maxKept {
		m.input = nil
	}
}

// NewDigester makes the Digester of a deployment's secret.
func NewDigester(s secret.Secret) Digester {
	return digesterFor(s.Key("subject"))
}

func digesterFor(key []byte) Digester {
	return Digester{macs: &sync.Pool{New: func() any { return &scratch{Hash: hmac.New(sha256.New, key)} }}}
}

// Digest is 43 characters of base64url: HMAC-SHA-256 over the length-prefixed
// kind and value, so that no two subjects share an input. The zero Subject has
// none: its "" is refused by every port, so that an ignored error of [IP] denies.
func (d Digester) Digest(s Subject) string {
	if s == (Subject{}) {
		return ""
	}
	mac := d.macs.Get().(*scratch)
	defer d.macs.Put(mac)
	defer mac.forget()
	mac.input = appendInput(mac.input[:0], s)
	mac.Write(mac.input)
	var digest [43]byte
	base64.RawURLEncoding.Encode(digest[:], mac.Sum(mac.sum[:0]))
	return string(digest[:])
}

// appendInput appends the kind and the text of s, each after its length.
func appendInput(b []byte, s Subject) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(len(s.kind)))
	b = append(b, s.kind...)
	b = binary.BigEndian.AppendUint64(b, 0)
	text := len(b)
	b = s.appendText(b)
	binary.BigEndian.PutUint64(b[text-8:], uint64(len(b)-text))
	return b
}
