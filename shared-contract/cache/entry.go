package cache

import (
	"crypto/rand"
	"fmt"
	"slices"
	"time"
)

// The bounds of an entry.
const (
	MaxValueLen = 64 << 10             // bytes
	MaxTTL      = 366 * 24 * time.Hour // an entry always has an end
)

// Entry is a value and how long to keep it. The zero Entry is none.
type Entry struct {
	value []byte
	ttl   time.Duration
}

// NewEntry makes an Entry of a copy of value, which is at most MaxValueLen bytes and
// may be empty. The ttl is whole milliseconds, above 0, at most MaxTTL; it counts
// from the write, by the store's clock.
func NewEntry(value []byte, ttl time.Duration) (Entry, error) {
	if len(value) > MaxValueLen {
		return Entry{}, fmt.Errorf("a cached value must be at most %d bytes; it is %d", MaxValueLen, len(value))
	}
	if ttl < time.Millisecond || ttl > MaxTTL || ttl%time.Millisecond != 0 {
		return Entry{}, fmt.Errorf("a cached value's TTL must be whole milliseconds, above 0, at most %v; it is %v", MaxTTL, ttl)
	}
	return Entry{value: slices.Clone(value), ttl: ttl}, nil
}

// Value is a copy of the value.
func (e Entry) Value() []byte { return slices.Clone(e.value) }

// TTL is how long to keep it.
func (e Entry) TTL() time.Duration { return e.ttl }

// IsZero tells whether e is none.
func (e Entry) IsZero() bool { return e.ttl == 0 }

// TokenLen is the bytes of a Token.
const TokenLen = 16

// Token is one write of one entry, as its reader observed it or its writer made it.
// It says nothing but whether two observations are of the same write: every write
// has a token of its own, of an equal value too. The zero Token is of no write.
type Token struct{ bytes [TokenLen]byte }

// NewToken is a token of a new write, for implementations. It is random, so that it
// depends on nobody's clock or counter.
func NewToken() Token {
	var t Token
	_, _ = rand.Read(t.bytes[:]) // it never fails
	return t
}

// ParseToken is the token that Bytes gave; false if b is none.
func ParseToken(b []byte) (Token, bool) {
	if len(b) != TokenLen {
		return Token{}, false
	}
	t := Token{bytes: [TokenLen]byte(b)}
	return t, !t.IsZero()
}

// Bytes is the token as TokenLen bytes.
func (t Token) Bytes() []byte { return t.bytes[:] }

// IsZero tells whether t is of no write.
func (t Token) IsZero() bool { return t == Token{} }
