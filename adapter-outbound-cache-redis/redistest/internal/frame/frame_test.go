package frame_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest/internal/frame"
)

var whole = []string{
	"+OK\r\n", "-ERR no\r\n", ":1\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", "(123456789012345678901234567890\r\n",
	"$0\r\n\r\n", "$-1\r\n", "$4\r\na\r\nb\r\n", "!5\r\nERR x\r\n", "=7\r\ntxt:abc\r\n",
	"*0\r\n", "*-1\r\n", "*2\r\n:1\r\n*1\r\n$1\r\na\r\n", "~1\r\n+a\r\n", "%1\r\n+k\r\n*1\r\n%0\r\n",
	"|1\r\n+ttl\r\n:3\r\n+value\r\n", "*1\r\n|1\r\n+ttl\r\n:3\r\n+value\r\n", "|0\r\n|0\r\n:1\r\n",
	">2\r\n+message\r\n*1\r\n:1\r\n", "|1\r\n+a\r\n+b\r\n>1\r\n+x\r\n",
	"+" + strings.Repeat("long", 5000) + "\r\n", strings.Repeat("*1\r\n", 127) + ":1\r\n",
}

var broken = []string{
	"?", "\r\n", "+OK\n", "$x\r\n", "$-2\r\n", "$1\r\nabc", "$99999999999999999999\r\n", "$536870913\r\n",
	"~-1\r\n", "%-1\r\n", "*?\r\n", "*1\r\n>1\r\n:1\r\n", "|1\r\n+a\r\n", strings.Repeat("*1\r\n", 200) + ":1\r\n",
	"%9223372036854775807\r\n", "+" + strings.Repeat("x", 2<<20), "*2\r\n:1\r\n", "$5\r\nabc",
}

func reader(text string) *bufio.Reader { return bufio.NewReader(strings.NewReader(text)) }

func TestReadReply_takesOneFrameAndNoMore(t *testing.T) {
	for _, text := range whole {
		r := reader(text + "+next\r\n")
		reply, err := frame.ReadReply(r)
		if err != nil || string(reply.Raw) != text {
			t.Errorf("%.60q: %.60q, %v", text, reply.Raw, err)
			continue
		}
		if want := strings.Contains(text, ">"); reply.Push != want {
			t.Errorf("%.60q: push is %v, want %v", text, reply.Push, want)
		}
		if next, err := frame.ReadReply(r); err != nil || string(next.Raw) != "+next\r\n" {
			t.Errorf("after %.60q: %q, %v", text, next.Raw, err)
		}
		if _, err := frame.ReadReply(r); !errors.Is(err, io.EOF) {
			t.Errorf("after %.60q: %v at the end, want io.EOF", text, err)
		}
	}
}

func TestReadReply_refusesWhatIsNoFrame(t *testing.T) {
	for _, text := range broken {
		reply, err := frame.ReadReply(reader(text))
		if !errors.Is(err, frame.ErrMalformed) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%.60q: %v, want it malformed or cut off", text, err)
		}
		if !strings.HasPrefix(text, string(reply.Raw)) || len(reply.Raw) == 0 {
			t.Errorf("%.60q: kept %.60q", text, reply.Raw)
		}
	}
}

func TestReadRequest_namesTheCommand(t *testing.T) {
	for _, row := range []struct {
		name, text, want string
	}{
		{"no argument", "*1\r\n$4\r\nping\r\n", "PING"},
		{"arguments with line ends in them", "*2\r\n$3\r\nGET\r\n$4\r\n\r\n\r\n\r\n", "GET"},
		{"an empty name", "*1\r\n$0\r\n\r\n", ""},
		{"empty arrays ahead", "*0\r\n*-1\r\n*1\r\n$4\r\nPING\r\n", "PING"},
	} {
		t.Run(row.name, func(t *testing.T) {
			request, err := frame.ReadRequest(reader(row.text + "*1"))
			if err != nil || request.Name != row.want || string(request.Raw) != row.text {
				t.Errorf("%q in %q, %v; want %q in %q", request.Name, request.Raw, err, row.want, row.text)
			}
		})
	}
}

func TestReadRequest_refusesWhatIsNoRequest(t *testing.T) {
	for _, text := range []string{
		"PING\r\n", "+PING\r\n", "*1\r\n+PING\r\n", "*1\r\n$-1\r\n", "*1\r\n*1\r\n", "*1", "*2\r\n$1\r\na\r\n",
	} {
		_, err := frame.ReadRequest(reader(text))
		if !errors.Is(err, frame.ErrMalformed) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: %v, want it malformed or cut off", text, err)
		}
	}
	if _, err := frame.ReadRequest(reader("")); !errors.Is(err, io.EOF) {
		t.Errorf("nothing: %v, want io.EOF", err)
	}
}

func FuzzReadReply(f *testing.F) {
	for _, text := range append(whole, broken...) {
		if len(text) < 1000 {
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		read := func(text []byte) ([]byte, error) {
			reply, err := frame.ReadReply(bufio.NewReaderSize(bytes.NewReader(text), 16))
			return reply.Raw, err
		}
		check(t, text, read)
	})
}

func FuzzReadRequest(f *testing.F) {
	f.Add([]byte("*0\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		read := func(text []byte) ([]byte, error) {
			request, err := frame.ReadRequest(bufio.NewReaderSize(bytes.NewReader(text), 16))
			return request.Raw, err
		}
		check(t, text, read)
	})
}

// check: a frame is a prefix of the input, alone is the same frame, and cut short is none.
func check(t *testing.T, text []byte, read func([]byte) ([]byte, error)) {
	raw, err := read(text)
	if !bytes.HasPrefix(text, raw) {
		t.Fatalf("%q is no prefix of %q", raw, text)
	}
	if err != nil {
		return
	}
	if again, err := read(raw); err != nil || !bytes.Equal(again, raw) {
		t.Fatalf("%q alone reads as %q, %v", raw, again, err)
	}
	for _, size := range []int{len(raw) / 2, len(raw) - 1} {
		if short, err := read(raw[:size]); err == nil {
			t.Fatalf("%q is a frame within the frame %q", short, raw)
		}
	}
}
