package reply

import (
	"bytes"
	"errors"
	"strconv"
)

var errParts = errors.New("the reply is not an array of as many decisions as were asked for")

// Parts are the elements of an array that is known to be whole.
type Parts struct{ rest []byte }

// Next takes the next element off p: a raw reply of its own.
func (p *Parts) Next() []byte {
	n, _ := FrameLen(p.rest)
	part := p.rest[:n:n]
	p.rest = p.rest[n:]
	return part
}

// Split reads a whole frame as an array of n elements.
func Split(raw []byte, n int) (Parts, error) {
	head, rest, _ := bytes.Cut(raw, []byte("\r\n"))
	if string(head) != "*"+strconv.Itoa(n) {
		return Parts{}, errParts
	}
	return Parts{rest}, nil
}
