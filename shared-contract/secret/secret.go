// Package secret holds the one secret that a deployment shares, and derives a
// separate key from it for each purpose, so that a digest made for one purpose
// says nothing about another.
//
// Changing the secret changes every subject and every physical key: it is one
// fresh allowance for everybody.
package secret

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
)

// MinLen is the least number of bytes in a secret.
const MinLen = 32

// Secret is a deployment's secret. The zero Secret is not valid. It never
// prints itself, nor does a struct that holds one: fmt calls no String on an
// unexported field, or under a verb like %d, but of a function it prints only
// the address.
type Secret struct{ reveal func() []byte }

// New copies b, at least MinLen bytes, into a Secret.
func New(b []byte) (Secret, error) {
	if len(b) < MinLen {
		return Secret{}, fmt.Errorf("the secret has %d bytes; it needs at least %d", len(b), MinLen)
	}
	own := bytes.Clone(b)
	return Secret{reveal: func() []byte { return own }}, nil
}

// FromFile makes a Secret of a file's content: its bytes less one trailing
// newline (LF or CRLF).
func FromFile(content []byte) (Secret, error) {
	if line, ok := bytes.CutSuffix(content, []byte("\r\n")); ok {
		return New(line)
	}
	return New(bytes.TrimSuffix(content, []byte("\n")))
}

// IsZero tells whether s is the zero Secret.
func (s Secret) IsZero() bool { return s.reveal == nil }

// Key derives the 32-byte key for one purpose by HKDF-SHA-256 (RFC 5869). It
// panics on the zero Secret, whose keys anybody could derive.
func (s Secret) Key(purpose string) []byte {
	if s.IsZero() {
		panic("secret: the zero Secret has no keys")
	}
	key, err := hkdf.Key(sha256.New, s.reveal(), nil, "edgelimit v1 "+purpose, sha256.Size)
	if err != nil {
		panic(err) // only a key longer than 255 hashes can fail
	}
	return key
}

// String hides the secret.
func (Secret) String() string { return "[redacted]" }

// GoString hides the secret.
func (Secret) GoString() string { return "[redacted]" }
