package limitkey

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"net/netip"
	"strings"
	"sync"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
	"github.com/edgelimit/edgelimit/shared-contract/secret"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// MaxIDLen is the longest tenant, user or key id, in bytes of its escaped form.
const MaxIDLen = 256

const (
	addressPrefix = "rl:anon:"
	digestLen     = 22 // 132 bits
)

// Why ids have no key. Each is an ErrInvalid of slidinglog, and the sender's fault.
var (
	ErrEmptyID   = fmt.Errorf("%w: an id is empty", slidinglog.ErrInvalid)
	ErrLongID    = fmt.Errorf("%w: an id has more than %d bytes in its escaped form", slidinglog.ErrInvalid, MaxIDLen)
	ErrNoAddress = fmt.Errorf("%w: neither a tenant nor an address", slidinglog.ErrInvalid)
)

// Keys are the keys of one principal.
type Keys struct {
	Outer string // the tenant's, or the address's
	Inner string // the user's or the key's; empty for one layer
}

// Builder builds keys. It is safe for concurrent use; the zero Builder is not
// valid.
type Builder struct{ macs *sync.Pool }

// scratch is what one digest is made with, and then the next.
type scratch struct {
	hash.Hash
	input []byte
	sum   [sha256.Size]byte
}

// forget leaves nothing of an identity in m.
func (m *scratch) forget() {
	m.Reset()
	clear(m.input)
}

// New makes a Builder whose addresses are digests under a deployment's secret, so
// that all its replicas name an address alike. It panics on the zero Secret.
func New(s secret.Secret) Builder { return builderFor(s.Key("inbound-web-address")) }

// NewRandom makes a Builder whose addresses are digests under a key that nobody
// else has: they count within this process alone.
func NewRandom() Builder {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	return builderFor(key)
}

func builderFor(key []byte) Builder {
	return Builder{macs: &sync.Pool{New: func() any { return &scratch{Hash: hmac.New(sha256.New, key)} }}}
}

// IsZero tells whether b is the zero Builder.
func (b Builder) IsZero() bool { return b.macs == nil }

// Keys are the keys of p; of an anonymous p, that of client. An id is
// percent-encoded: the bytes of its UTF-8, or whatever bytes it holds, in
// upper-case hex, all but A-Z a-z 0-9 - . _ ~. The error is ErrEmptyID, ErrLongID
// or ErrNoAddress.
func (b Builder) Keys(p identity.Principal, client netip.Prefix) (Keys, error) {
	if p.IsAnonymous() {
		if !client.IsValid() {
			return Keys{}, ErrNoAddress
		}
		return Keys{Outer: b.address(client)}, nil
	}
	outer, err := join("rl:{", p.Tenant, "}")
	if err != nil {
		return Keys{}, fmt.Errorf("tenant: %w", err)
	}
	var inner string
	switch {
	case p.User != "":
		if inner, err = join(outer+":user:", p.User, ""); err != nil {
			return Keys{}, fmt.Errorf("user: %w", err)
		}
	case p.Key != "":
		if inner, err = join(outer+":key:", p.Key, ""); err != nil {
			return Keys{}, fmt.Errorf("key: %w", err)
		}
	}
	return Keys{Outer: outer, Inner: inner}, nil
}

// IsAddress tells whether key is that of an address.
func IsAddress(key string) bool { return strings.HasPrefix(key, addressPrefix) }

// IsTenant tells whether key is that of a tenant, or of another whole that a
// tagged key stands for: it ends with its tag.
func IsTenant(key string) bool {
	tag, tagged := slidinglog.Tag(key)
	return tagged && strings.IndexByte(key, '{')+len(tag)+2 == len(key)
}

// address is the key of an address: the beginning of the base64url of HMAC-SHA-256
// over the prefix's text.
func (b Builder) address(client netip.Prefix) string {
	mac := b.macs.Get().(*scratch)
	defer b.macs.Put(mac)
	defer mac.forget()
	mac.input = client.AppendTo(mac.input[:0])
	mac.Write(mac.input)
	key := make([]byte, 0, 64)
	key = append(key, addressPrefix...)
	key = base64.RawURLEncoding.AppendEncode(key, mac.Sum(mac.sum[:0]))
	return string(key[:len(addressPrefix)+digestLen])
}

// join puts an id, escaped, between before and after.
func join(before, id, after string) (string, error) {
	escaped := len(id)
	for i := range len(id) {
		if !unreserved(id[i]) {
			escaped += 2
		}
	}
	switch {
	case escaped == 0:
		return "", ErrEmptyID
	case escaped > MaxIDLen:
		return "", ErrLongID
	}
	const upperHex = "0123456789ABCDEF"
	key := make([]byte, 0, len(before)+escaped+len(after))
	key = append(key, before...)
	for i := range len(id) {
		if c := id[i]; unreserved(c) {
			key = append(key, c)
		} else {
			key = append(key, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(append(key, after...)), nil
}

// unreserved is RFC 3986's word for what needs no escape.
func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
}
