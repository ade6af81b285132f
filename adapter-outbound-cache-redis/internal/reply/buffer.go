package reply

import "errors"

// MaxBytes bounds one reply: a decision is far smaller, an error line of the
// server fits.
const MaxBytes = 4096

// ErrTooLong says that a reply passed its bound. Nothing is known of its content.
var ErrTooLong = errors.New("the reply is longer than any that a program gives")

// Buffer collects one raw reply and refuses what would pass its limit, so that a
// length announced by the server allocates nothing.
type Buffer struct {
	Limit int // bytes; 0 means MaxBytes
	bytes []byte
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	limit := b.Limit
	if limit == 0 {
		limit = MaxBytes
	}
	if len(b.bytes)+len(p) > limit {
		return 0, ErrTooLong
	}
	b.bytes = append(b.bytes, p...)
	return len(p), nil
}

// Bytes is what was collected.
func (b *Buffer) Bytes() []byte { return b.bytes }
