package contender

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
)

// Path is which answers the decisions get, by the limit that is set.
type Path string

// The paths: a limit that nobody reaches, one of 1 that was used up before, and one
// by which either answer may come.
const (
	Allowed Path = "allowed"
	Denied  Path = "denied"
	Mixed   Path = "mixed"
)

// Expects tells whether the path has room for that answer.
func (p Path) Expects(allowed bool) bool { return p == Mixed || allowed == (p == Allowed) }

// units is the limit of the path.
func (p Path) units() int64 {
	switch p {
	case Allowed:
		return 100_000_000
	case Denied:
		return 1
	default:
		return 1000
	}
}

// Decide makes one decision of cost 1 for the subject of that number.
type Decide func(subject int) (allowed bool, err error)

// Limiter is an opened contender. It is safe for concurrent use.
type Limiter interface {
	// Caller is what one caller decides by, for as long as ctx lasts. The ctx has a
	// deadline far away, for those who ask for one.
	Caller(ctx context.Context) Decide
	Close() error
}

// Contender is something that decides.
type Contender struct {
	Name string
	Path Path

	// Ages says that what the limiter knows of its subjects grows old, so that it must
	// meet each of them again before a slice is measured.
	Ages bool

	// Open connects to the Redis at addr. The names are those of the subjects.
	Open func(addr string, names []string) (Limiter, error)
}

// Names are n subjects' names: digests of 43 characters, the same in every run.
func Names(n int) []string {
	names := make([]string, n)
	for i := range names {
		sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(i)))
		names[i] = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return names
}

// opened is a Limiter made of functions.
type opened struct {
	caller func(ctx context.Context) Decide
	close  func() error
}

func (o opened) Caller(ctx context.Context) Decide { return o.caller(ctx) }
func (o opened) Close() error                      { return o.close() }
