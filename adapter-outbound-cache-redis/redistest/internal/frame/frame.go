package frame

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
)

// ErrMalformed says that the bytes are not a frame of the protocol, or one beyond the bounds of this package: 512 MiB
// in all, 1 MiB to a line, 128 levels of nesting, no streamed types.
var ErrMalformed = errors.New("malformed RESP frame")

const (
	maxFrame = 512 << 20
	maxLine  = 1 << 20
	maxDepth = 128
)

// Request is one command as a client sent it.
type Request struct {
	Raw  []byte // the bytes of the request, owned by the caller
	Name string // the first argument in upper case
}

// Reply is one frame as a server sent it, with the attributes before it.
type Reply struct {
	Raw  []byte // the bytes of the reply, owned by the caller
	Push bool   // out of band (">"): it answers no request
}

// ReadRequest reads an array of bulk strings. Empty arrays, which a server does not answer, are carried in the Raw of
// the request behind them. Inline commands are ErrMalformed. The error is io.EOF only between two requests, and
// io.ErrUnexpectedEOF within one.
func ReadRequest(r *bufio.Reader) (Request, error) {
	s := scanner{r: r}
	name, err := s.request()
	err = s.end(err)
	return Request{Raw: s.raw.Bytes(), Name: strings.ToUpper(name)}, err
}

// ReadReply reads one reply of RESP2 or RESP3: simple and bulk strings and errors, numbers, booleans, nulls, verbatim
// strings, arrays, maps, sets and pushes, nested and with attributes anywhere. A push inside another frame is
// ErrMalformed. The error is io.EOF only between two replies, and io.ErrUnexpectedEOF within one.
func ReadReply(r *bufio.Reader) (Reply, error) {
	s := scanner{r: r}
	kind, err := s.value(maxDepth)
	err = s.end(err)
	return Reply{Raw: s.raw.Bytes(), Push: kind == '>'}, err
}

type scanner struct {
	r   *bufio.Reader
	raw bytes.Buffer
}

func (s *scanner) request() (string, error) {
	for {
		count, err := s.header('*')
		if err != nil {
			return "", err
		}
		if count <= 0 {
			continue
		}
		name, err := s.argument()
		for i := int64(1); i < count && err == nil; i++ {
			_, err = s.argument()
		}
		return string(name), err
	}
}

func (s *scanner) argument() ([]byte, error) {
	size, err := s.header('$')
	if err != nil {
		return nil, err
	}
	if size < 0 {
		return nil, ErrMalformed
	}
	return s.body(size)
}

func (s *scanner) header(want byte) (int64, error) {
	kind, size, err := s.line()
	if err != nil {
		return 0, err
	}
	if kind != want {
		return 0, ErrMalformed
	}
	return length(size)
}

// value reads one value and says its type, which is never that of the attributes before it.
func (s *scanner) value(depth int) (byte, error) {
	if depth == 0 {
		return 0, ErrMalformed
	}
	for {
		kind, rest, err := s.line()
		if err != nil {
			return 0, err
		}
		if strings.IndexByte("+-:_#,(", kind) >= 0 {
			return kind, nil
		}
		size, err := length(rest)
		switch {
		case err != nil:
			return 0, err
		case size > maxFrame, kind == '>' && depth < maxDepth, size < 0 && kind != '$' && kind != '*':
			return 0, ErrMalformed
		case size < 0:
			return kind, nil
		}
		switch kind {
		case '$', '=', '!':
			_, err = s.body(size)
		case '*', '~', '>':
			err = s.items(size, depth)
		case '%', '|':
			err = s.items(2*size, depth)
		}
		if err != nil || kind != '|' {
			return kind, err
		}
	}
}

func (s *scanner) items(count int64, depth int) error {
	for range count {
		if _, err := s.value(depth - 1); err != nil {
			return err
		}
	}
	return nil
}

// line reads up to CRLF and gives the type and what follows it. The type is checked before the rest is waited for.
func (s *scanner) line() (byte, []byte, error) {
	kind, err := s.r.Peek(1)
	if err != nil {
		return 0, nil, err
	}
	if strings.IndexByte("+-:_#,($=!*~>%|", kind[0]) < 0 {
		return 0, nil, ErrMalformed
	}
	start := s.raw.Len()
	for {
		part, err := s.r.ReadSlice('\n')
		s.raw.Write(part)
		if s.raw.Len()-start > maxLine || s.raw.Len() > maxFrame {
			return 0, nil, ErrMalformed
		}
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return 0, nil, err
		}
	}
	line, ok := bytes.CutSuffix(s.raw.Bytes()[start:], []byte("\r\n"))
	if !ok {
		return 0, nil, ErrMalformed
	}
	return line[0], line[1:], nil
}

// body grows with what arrives, so that a length alone takes no memory.
func (s *scanner) body(size int64) ([]byte, error) {
	start := s.raw.Len()
	if size > maxFrame-int64(start) {
		return nil, ErrMalformed
	}
	if _, err := io.CopyN(&s.raw, s.r, size+2); err != nil {
		return nil, err
	}
	body, ok := bytes.CutSuffix(s.raw.Bytes()[start:], []byte("\r\n"))
	if !ok {
		return nil, ErrMalformed
	}
	return body, nil
}

// end keeps what has already arrived behind a broken frame, and tells an end within a frame from one between two.
func (s *scanner) end(err error) error {
	if errors.Is(err, ErrMalformed) {
		rest, _ := s.r.Peek(s.r.Buffered())
		s.raw.Write(rest)
		_, _ = s.r.Discard(len(rest))
	}
	if errors.Is(err, io.EOF) && s.raw.Len() > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}

func length(digits []byte) (int64, error) {
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil || n < -1 {
		return 0, ErrMalformed
	}
	return n, nil
}
