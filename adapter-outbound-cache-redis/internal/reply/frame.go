package reply

import (
	"bytes"
	"errors"
)

// ErrIncomplete says that a frame goes on after the bytes that there are.
var ErrIncomplete = errors.New("the reply is not complete yet")

var errFrame = errors.New("the reply is not RESP")

// deepest is how far arrays may be nested in a frame.
const deepest = 8

// FrameLen is how many bytes the first frame of raw takes, RESP2 or RESP3. The error
// is ErrIncomplete if raw ends before it does. What a frame announces allocates
// nothing.
func FrameLen(raw []byte) (int, error) { return frameLen(raw, deepest) }

func frameLen(raw []byte, depth int) (int, error) {
	end := bytes.IndexByte(raw, '\n') + 1
	switch {
	case end == 0:
		return 0, ErrIncomplete
	case end < 3 || raw[end-2] != '\r':
		return 0, errFrame
	}
	head := raw[1 : end-2]
	switch raw[0] {
	case '+', '-', ':', '_', '#', ',', '(':
		return end, nil
	case '$', '!', '=':
		return bulkLen(raw, head, end)
	case '*', '~', '>':
		return arrayLen(raw, head, end, 1, depth)
	case '%':
		return arrayLen(raw, head, end, 2, depth)
	default:
		return 0, errFrame
	}
}

func bulkLen(raw, head []byte, begin int) (int, error) {
	size, err := sizeOf(head)
	if err != nil || size < 0 {
		return begin, err
	}
	if len(raw)-begin-2 < size {
		return 0, ErrIncomplete
	}
	end := begin + size + 2
	if string(raw[end-2:end]) != "\r\n" {
		return 0, errFrame
	}
	return end, nil
}

func arrayLen(raw, head []byte, end, each, depth int) (int, error) {
	size, err := sizeOf(head)
	switch {
	case err != nil:
		return 0, err
	case depth == 0:
		return 0, errFrame
	}
	for range max(size, 0) * each {
		n, err := frameLen(raw[end:], depth-1)
		if err != nil {
			return 0, err
		}
		end += n
	}
	return end, nil
}

// sizeOf reads an announced size; -1 announces null.
func sizeOf(head []byte) (int, error) {
	if string(head) == "-1" {
		return -1, nil
	}
	n, err := canonical(head)
	if err != nil {
		return 0, errFrame
	}
	return int(n), nil
}
