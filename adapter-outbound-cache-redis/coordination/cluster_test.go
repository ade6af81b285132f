package coordination_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
)

func TestSlot_asTheServerReckons(t *testing.T) {
	for key, want := range map[string]int{
		"123456789":        0x31C3,
		"foo":              12182,
		"bar":              5061,
		"":                 0,
		"foo{}{bar}":       8363,
		"foo{bar":          15278,
		"foo}{bar":         7624,
		"foo{}":            5542,
		"}a{b}":            3300,
		"{user1000}.from":  coordination.Slot("user1000"),
		"a{user1000}.to":   coordination.Slot("user1000"),
		"foo{{bar}}zap":    coordination.Slot("{bar"),
		"foo{bar}{zap}":    coordination.Slot("bar"),
		"rl:{acme}:user:a": coordination.Slot("acme"),
	} {
		if got := coordination.Slot(key); got != want {
			t.Errorf("slot of %q: got %d, want %d", key, got, want)
		}
	}
}

// resp writes words as RESP, one value each: a number of items in brackets, an
// integer, or a text in single quotes.
func resp(words string) []byte {
	var b strings.Builder
	for word := range strings.FieldsSeq(words) {
		switch {
		case strings.HasPrefix(word, "["):
			b.WriteString("*" + word[1:] + "\r\n")
		case word == "nil":
			b.WriteString("$-1\r\n")
		case strings.HasPrefix(word, "'"):
			text := strings.Trim(word, "'")
			b.WriteString("$" + strconv.Itoa(len(text)) + "\r\n" + text + "\r\n")
		default:
			b.WriteString(":" + word + "\r\n")
		}
	}
	return []byte(b.String())
}

const wholeSlots = "[2 " +
	"[4 0 8191 [4 '10.0.0.1' 7001 'a' [2 'hostname' 'one'] [4 '10.0.0.4' 7004 'd' [0 " +
	"[3 8192 16383 [4 nil 7002 'b' [0"

func TestOwners_ofAWholeReply(t *testing.T) {
	owners, err := coordination.OwnersOf(resp(wholeSlots), "10.0.0.9")
	if err != nil {
		t.Fatal(err)
	}
	for slot, want := range map[int]string{0: "10.0.0.1:7001", 8191: "10.0.0.1:7001", 8192: "10.0.0.9:7002", 16383: "10.0.0.9:7002"} {
		if owners[slot] != want {
			t.Errorf("slot %d: got %q, want %q", slot, owners[slot], want)
		}
	}
}

func TestOwners_ofAReplyThatIsNone(t *testing.T) {
	for sentence, words := range map[string]string{
		"nothing is served":            "[0",
		"no array":                     "5",
		"an entry is no array":         "[1 5",
		"an entry without a master":    "[1 [2 0 16383",
		"a slot is a text":             "[1 [3 '0' 16383 [3 'h' 7001 'a'",
		"a slot below 0":               "[1 [3 -1 16383 [3 'h' 7001 'a'",
		"a slot above the last":        "[1 [3 0 16384 [3 'h' 7001 'a'",
		"the first above the last":     "[1 [3 9 8 [3 'h' 7001 'a'",
		"a slot named twice":           "[2 [3 0 5 [3 'h' 7001 'a' [3 5 9 [3 'i' 7001 'b'",
		"a host that is not known":     "[1 [3 0 16383 [3 '?' 7001 'a'",
		"port 0":                       "[1 [3 0 16383 [3 'h' 0 'a'",
		"port 65536":                   "[1 [3 0 16383 [3 'h' 65536 'a'",
		"a port as a text":             "[1 [3 0 16383 [3 'h' '7001' 'a'",
		"a master without an id":       "[1 [3 0 16383 [2 'h' 7001",
		"more than there is":           "[2 [3 0 16383 [3 'h' 7001 'a'",
		"more than one value":          "[1 [3 0 16383 [3 'h' 7001 'a' 5",
		"a value nested deeper":        "[1 [3 0 16383 [4 'h' 7001 'a' [1 [1 [1 5",
		"a length that nobody can pay": "[99999999999 5",
	} {
		if _, err := coordination.OwnersOf(resp(words), "10.0.0.9"); err == nil {
			t.Errorf("%s: read", sentence)
		}
	}
	for _, raw := range []string{"", "\r\n", "*", "*1", "*1\r\n", "$5\r\nabc\r\n", "$3\r\nabcde", "$-2\r\n", "*-1\r\n", "+OK\r\n", "-ERR no\r\n", ":x\r\n"} {
		if _, err := coordination.OwnersOf([]byte(raw), "10.0.0.9"); err == nil {
			t.Errorf("%q: read", raw)
		}
	}
}

// FuzzOwners holds that no reply makes the reader panic, and that what it reads
// serves something.
func FuzzOwners(f *testing.F) {
	f.Add(resp(wholeSlots))
	f.Add([]byte("*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$0\r\n\r\n:7001\r\n$1\r\na\r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		owners, err := coordination.OwnersOf(raw, "10.0.0.9")
		if err == nil && strings.Join(owners, "") == "" {
			t.Errorf("%q serves nothing", raw)
		}
	})
}

func TestFollow_redirections(t *testing.T) {
	for _, row := range []struct {
		raw, to        string
		ask, elsewhere bool
	}{
		{"-MOVED 3999 10.0.0.2:7002\r\n", "10.0.0.2:7002", false, true},
		{"-ASK 3999 10.0.0.2:7002\r\n", "10.0.0.2:7002", true, true},
		{"-MOVED 3999 :7002\r\n", "10.0.0.9:7002", false, true},
		{"-MOVED 3999 node.example:7002\r\n", "node.example:7002", false, true},
		{"-MOVED 3999 fd00::2:7002\r\n", "[fd00::2]:7002", false, true},
		{"-MOVED 3999 ?:7002\r\n", "", false, false},
		{"-MOVED 3999\r\n", "", false, false},
		{"-MOVED 3999 10.0.0.2\r\n", "", false, false},
		{"-MOVED 3999 10.0.0.2:0\r\n", "", false, false},
		{"-MOVED 3999 10.0.0.2:65536\r\n", "", false, false},
		{"-MOVED 3999 10.0.0.2:7002 more\r\n", "", false, false},
		{"-TRYAGAIN later\r\n", "", false, false},
		{"+MOVED 3999 10.0.0.2:7002\r\n", "", false, false},
	} {
		to, ask, elsewhere := coordination.FollowTo(row.raw, "10.0.0.9:7001")
		if to != row.to || ask != row.ask || elsewhere != row.elsewhere {
			t.Errorf("%q: got %q %t %t, want %q %t %t", row.raw, to, ask, elsewhere, row.to, row.ask, row.elsewhere)
		}
	}
}
