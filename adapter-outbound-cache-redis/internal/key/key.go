// Package key is the one builder of physical Redis keys:
//
//	<prefix>:v1:<capability>:<region>:<kind>:<digest>
//
// The digest is the first 22 characters (132 bits) of the base64url of
// HMAC-SHA-256 over the length-prefixed parts that tell one key from another, so
// no identity appears in a key and no two part lists share an input.
//
// The one rule that matters: a changed encoding gives everybody a fresh
// allowance. A golden test pins one whole key.
package key

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash"
	"regexp"
	"sync"

	"github.com/edgelimit/edgelimit/shared-contract/secret"
)

const digestLen = 22

var prefixForm = regexp.MustCompile(`^[a-z0-9._-]{1,32}$`)

// Builder builds the keys of one prefix under one secret. It is safe for
// concurrent use.
type Builder struct {
	prefix string
	makers *sync.Pool // of *maker
}

// maker is what one key is made with.
type maker struct {
	mac   hash.Hash
	input []byte
	sum   []byte
	text  []byte
}

// NewBuilder makes a Builder; the prefix is 1 to 32 characters of a-z 0-9 . _ -.
func NewBuilder(prefix string, s secret.Secret) (Builder, error) {
	if !prefixForm.MatchString(prefix) {
		return Builder{}, fmt.Errorf("key prefix %q must be 1 to 32 characters of a-z 0-9 . _ -", prefix)
	}
	if s.IsZero() {
		return Builder{}, fmt.Errorf("keys need a secret of at least %d bytes", secret.MinLen)
	}
	derived := s.Key("redis-key")
	return Builder{prefix: prefix, makers: &sync.Pool{New: func() any { return &maker{mac: hmac.New(sha256.New, derived)} }}}, nil
}

// Pattern matches every key of the builder, in the form that ACL rules take.
func (b Builder) Pattern() string { return b.prefix + ":*" }

// Series builds the keys that differ in their last part alone.
type Series struct {
	makers *sync.Pool
	head   string // the key up to its digest
	fixed  []byte // the encoded parts but the last
}

// Series fixes all but the last part. Capability, region and kind must not
// contain a colon.
func (b Builder) Series(capability, region, kind string, parts ...string) Series {
	s := Series{makers: b.makers, head: b.prefix + ":v1:" + capability + ":" + region + ":" + kind + ":"}
	for _, part := range parts {
		s.fixed = appendPart(s.fixed, part)
	}
	return s
}

// Key is the physical key of the last part.
func (s Series) Key(last string) string {
	m := s.makers.Get().(*maker)
	defer s.makers.Put(m)
	m.input = appendPart(append(m.input[:0], s.fixed...), last)
	m.mac.Reset()
	m.mac.Write(m.input)
	m.sum = m.mac.Sum(m.sum[:0])
	m.text = base64.RawURLEncoding.AppendEncode(append(m.text[:0], s.head...), m.sum)
	return string(m.text[:len(s.head)+digestLen])
}

func appendPart(to []byte, part string) []byte {
	to = binary.BigEndian.AppendUint64(to, uint64(len(part)))
	return append(to, part...)
}
