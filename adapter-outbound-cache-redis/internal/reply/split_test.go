package reply_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"
)

func TestSplit_takesAnArrayOfAsManyApart(t *testing.T) {
	parts := []string{
		words("ALLOWED 1000 1000 10 9 0 2000"), "-OOM full\r\n", "!6\r\nERR no\r\n", ":1\r\n", "*0\r\n", "$-1\r\n",
		words("DENIED 1000 1000 10 0 5 2000"),
	}
	for n := range len(parts) + 1 {
		whole := "*" + strconv.Itoa(n) + "\r\n" + strings.Join(parts[:n], "")
		got, err := reply.Split([]byte(whole), n)
		if err != nil {
			t.Errorf("%d parts: %v", n, err)
			continue
		}
		for i, want := range parts[:n] {
			if part := string(got.Next()); part != want {
				t.Errorf("part %d of %d: got %q, want %q", i, n, part, want)
			}
		}
		if rest := got.Next(); len(rest) != 0 {
			t.Errorf("after %d parts there is %q", n, rest)
		}
		for _, other := range []int{n - 1, n + 1, -1, 10 * n} {
			if other == n {
				continue
			}
			if _, err := reply.Split([]byte(whole), other); err == nil {
				t.Errorf("%d parts are taken for %d", n, other)
			}
		}
	}
}

// A part may be kept and added to without harm to its neighbour.
func TestSplit_aPartEndsWhereItEnds(t *testing.T) {
	whole := []byte("*2\r\n:1\r\n:2\r\n")
	parts, err := reply.Split(whole, 2)
	if err != nil {
		t.Fatal(err)
	}
	_ = append(parts.Next(), "garbage"...)
	if got := string(parts.Next()); got != ":2\r\n" {
		t.Errorf("the second part became %q", got)
	}
}

func TestSplit_refusesWhatIsNoArray(t *testing.T) {
	for sentence, raw := range map[string]string{
		"nothing": "", "an error": "-NOSCRIPT No matching script\r\n", "a set": "~1\r\n:1\r\n", "a push": ">1\r\n:1\r\n",
		"a map": "%1\r\n:1\r\n:1\r\n", "a bulk": "$1\r\na\r\n", "a null array": "*-1\r\n", "a size with a zero": "*01\r\n:1\r\n",
	} {
		for n := range 3 {
			if _, err := reply.Split([]byte(raw), n); err == nil {
				t.Errorf("%s is taken for an array of %d", sentence, n)
			}
		}
	}
}
