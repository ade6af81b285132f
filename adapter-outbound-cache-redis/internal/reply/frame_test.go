package reply_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"
)

// frames are whole replies of every kind.
var frames = map[string]string{
	"a decision":                    words("ALLOWED 1000 1000 10 9 0 2000"),
	"a batch of two":                "*2\r\n" + words("ALLOWED 1000 1000 10 9 0 2000") + "-OOM full\r\n",
	"an integer":                    ":1\r\n",
	"a simple string":               "+OK\r\n",
	"an empty simple string":        "+\r\n",
	"an error":                      "-ERR no\r\n",
	"a bulk string":                 "$2\r\nab\r\n",
	"an empty bulk string":          "$0\r\n\r\n",
	"a bulk string of line ends":    "$4\r\n\r\n\r\n\r\n",
	"a null bulk string":            "$-1\r\n",
	"an empty array":                "*0\r\n",
	"a null array":                  "*-1\r\n",
	"a RESP3 null":                  "_\r\n",
	"a boolean":                     "#t\r\n",
	"a double":                      ",1.5\r\n",
	"a big number":                  "(12345678901234567890\r\n",
	"a blob error":                  "!6\r\nERR no\r\n",
	"a verbatim string":             "=6\r\ntxt:ab\r\n",
	"a set":                         "~1\r\n:1\r\n",
	"a map":                         "%1\r\n+a\r\n:1\r\n",
	"a push":                        ">2\r\n+invalidate\r\n_\r\n",
	"arrays as deep as can be":      strings.Repeat("*1\r\n", 8) + ":1\r\n",
	"an array with nulls":           "*3\r\n$-1\r\n*-1\r\n_\r\n",
	"a simple string with a return": "+a\rb\r\n",
}

func TestFrameLen_isOfTheFirstFrameAndOfNoPartOfIt(t *testing.T) {
	for sentence, raw := range frames {
		for _, after := range []string{"", "\r\n", ":1\r\n", "garbage", raw, "*"} {
			if n, err := reply.FrameLen([]byte(raw + after)); err != nil || n != len(raw) {
				t.Errorf("%s, then %q: got %d, %v, want %d", sentence, after, n, err, len(raw))
			}
		}
		for n := range raw {
			if got, err := reply.FrameLen([]byte(raw[:n])); !errors.Is(err, reply.ErrIncomplete) {
				t.Errorf("%s, its first %d bytes: got %d, %v, want ErrIncomplete", sentence, n, got, err)
			}
		}
	}
}

func TestFrameLen_refusesWhatIsNotRESP(t *testing.T) {
	for sentence, raw := range map[string]string{
		"a web page":                        "HTTP/1.1 400 Bad Request\r\n",
		"an empty line":                     "\r\n",
		"a line end alone":                  "\n",
		"a line feed without a return":      ":12\n",
		"an unknown type":                   "?1\r\n",
		"a bulk longer than it says":        "$1\r\nab\r\n",
		"a bulk without a size":             "$\r\n",
		"a bulk size that is no number":     "$ab\r\n",
		"a bulk size with a plus":           "$+1\r\na\r\n",
		"a bulk size with a zero":           "$01\r\na\r\n",
		"a bulk size of minus two":          "$-2\r\n",
		"a bulk size of minus zero":         "$-0\r\n",
		"a bulk size beyond 64 bits":        "$18446744073709551615\r\n",
		"a streamed bulk":                   "$?\r\n",
		"an array size of minus two":        "*-2\r\n",
		"an array size beyond 64 bits":      "*9223372036854775808\r\n",
		"an array size beyond 2^53-1":       "*9007199254740992\r\n",
		"a streamed array":                  "*?\r\n",
		"a map size of minus two":           "%-2\r\n",
		"garbage within an array":           "*2\r\n:1\r\ngarbage\r\n",
		"arrays one deeper than can be":     strings.Repeat("*1\r\n", 9) + ":1\r\n",
		"arrays that never end":             strings.Repeat("*1\r\n", 1<<16),
		"maps that never end":               strings.Repeat("%1\r\n", 1<<16),
		"empty arrays deeper than can be":   strings.Repeat("*1\r\n", 8) + "*0\r\n",
		"an array whose last bulk is wrong": "*1\r\n$1\r\nabc\r\n",
	} {
		if n, err := reply.FrameLen([]byte(raw)); err == nil || errors.Is(err, reply.ErrIncomplete) {
			t.Errorf("%s: got %d, %v, want that it is no RESP", sentence, n, err)
		}
	}
}

// What a size announces is waited for and takes no memory.
func TestFrameLen_anAnnouncedSizeAllocatesNothing(t *testing.T) {
	for _, raw := range []string{
		"*2147483647\r\n", "*9007199254740991\r\n", "$2147483647\r\n", "$9007199254740991\r\n", "%9007199254740991\r\n",
		"*7\r\n$2147483647\r\n", "~9007199254740991\r\n:1\r\n", strings.Repeat("*9007199254740991\r\n", 8),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		n, err := reply.FrameLen([]byte(raw))
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, reply.ErrIncomplete) || got > 1<<16 {
			t.Errorf("%.30q: got %d, %v, and %d bytes allocated", raw, n, err, got)
		}
	}
}

// FuzzFrameLen holds that no bytes make the reader of frames panic; that a frame is
// never longer than what there is, is the same whatever follows it, and is not
// complete without its last byte; and that an array of frames comes apart into them.
func FuzzFrameLen(f *testing.F) {
	for _, raw := range frames {
		f.Add([]byte(raw), []byte(":1\r\n"))
		f.Add([]byte(raw+raw), []byte("$"))
	}
	f.Add([]byte("*9007199254740991\r\n"), []byte{})
	f.Add([]byte("*-2\r\n$-2\r\n"), []byte("\r\n"))
	f.Add([]byte(strings.Repeat("*1\r\n", 20)), []byte("%1\r\n"))
	f.Fuzz(func(t *testing.T, raw, after []byte) {
		n, err := reply.FrameLen(raw)
		if err != nil {
			if n2, err2 := reply.FrameLen(append(raw[:len(raw):len(raw)], after...)); !errors.Is(err, reply.ErrIncomplete) && err2 == nil {
				t.Errorf("%q is no RESP (%v), and with %q a frame of %d", raw, err, after, n2)
			}
			return
		}
		if n < 3 || n > len(raw) {
			t.Fatalf("%q: a frame of %d bytes", raw, n)
		}
		frame := raw[:n:n]
		if again, err := reply.FrameLen(append(frame, after...)); err != nil || again != n {
			t.Errorf("%q, then %q: got %d, %v, want %d", frame, after, again, err, n)
		}
		if short, err := reply.FrameLen(frame[:n-1]); !errors.Is(err, reply.ErrIncomplete) {
			t.Errorf("%q without its last byte: got %d, %v", frame, short, err)
		}
		parts, err := reply.Split([]byte("*2\r\n"+string(frame)+"-ERR no\r\n"), 2)
		if err != nil {
			t.Fatal(err)
		}
		if first, second := string(parts.Next()), string(parts.Next()); first != string(frame) || second != "-ERR no\r\n" {
			t.Errorf("%q comes apart as %q and %q", frame, first, second)
		}
	})
}
