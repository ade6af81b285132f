package reply_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"
	"github.com/edgelimit/edgelimit/shared-contract/model"
)

const limit = 10

// array is a reply of these elements: a bulk string for the status and for what
// is quoted, else an integer.
func array(elements ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(elements))
	for i, element := range elements {
		if text, quoted := strings.CutPrefix(element, "'"); i == 0 || quoted {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(text), text)
			continue
		}
		fmt.Fprintf(&b, ":%s\r\n", element)
	}
	return b.String()
}

// words is array of one line.
func words(line string) string { return array(strings.Fields(line)...) }

func TestDecode_readsWhatTheProgramsAnswer(t *testing.T) {
	for _, row := range []struct {
		raw  string
		want model.Reply
	}{
		{words("ALLOWED 1000 1000 10 9 0 2000"), model.Reply{Status: model.Allowed, ServerNowMillis: 1000, EffectiveNowMillis: 1000, Limit: 10, Remaining: 9, ResetAtMillis: 2000}},
		{words("ALLOWED 1000 1000 10 10 0 1000"), model.Reply{Status: model.Allowed, ServerNowMillis: 1000, EffectiveNowMillis: 1000, Limit: 10, Remaining: 10, ResetAtMillis: 1000}},
		{words("DENIED 1000 1001 10 0 5 2000"), model.Reply{Status: model.Denied, ServerNowMillis: 1000, EffectiveNowMillis: 1001, Limit: 10, RetryAfterMillis: 5, ResetAtMillis: 2000}},
		{words("CLOCK_UNSAFE 1000 5000 10 0 7 1007"), model.Reply{Status: model.ClockUnsafe, ServerNowMillis: 1000, EffectiveNowMillis: 5000, Limit: 10, RetryAfterMillis: 7, ResetAtMillis: 1007}},
		{words("STATE_INCOMPATIBLE 1000 1000 0 0 0 0"), model.Reply{Status: model.StateIncompatible, ServerNowMillis: 1000, EffectiveNowMillis: 1000}},
		{words("INVALID 1000 1000 0 0 0 0"), model.Reply{Status: model.Invalid, ServerNowMillis: 1000, EffectiveNowMillis: 1000}},
		{words("ALLOWED '1000 1000 '10 '9 '0 '9007199254740991"), model.Reply{Status: model.Allowed, ServerNowMillis: 1000, EffectiveNowMillis: 1000, Limit: 10, Remaining: 9, ResetAtMillis: 9007199254740991}},
	} {
		got, err := reply.Decode([]byte(row.raw), limit)
		if err != nil || got != row.want {
			t.Errorf("%q:\n got %+v, %v\nwant %+v", row.raw, got, err, row.want)
		}
	}
}

// contradictory replies have the form of a reply and cannot be true.
var contradictory = map[string]string{
	"allowed with another limit":             "ALLOWED 1000 1000 11 9 0 2000",
	"allowed with a smaller limit":           "ALLOWED 1000 1000 9 9 0 2000",
	"allowed with no limit":                  "ALLOWED 1000 1000 0 0 0 2000",
	"allowed with more left than the limit":  "ALLOWED 1000 1000 10 11 0 2000",
	"allowed by a clock before the server's": "ALLOWED 1000 999 10 9 0 2000",
	"allowed with a retry-after":             "ALLOWED 1000 1000 10 9 1 2000",
	"allowed and reset in the past":          "ALLOWED 1000 1000 10 9 0 999",
	"denied with another limit":              "DENIED 1000 1000 11 0 5 2000",
	"denied with more left than the limit":   "DENIED 1000 1000 10 11 5 2000",
	"denied by a clock before the server's":  "DENIED 1000 999 10 0 5 2000",
	"denied without a retry-after":           "DENIED 1000 1000 10 0 0 2000",
	"denied and reset in the past":           "DENIED 1000 1000 10 0 5 999",
	"an unsafe clock with another limit":     "CLOCK_UNSAFE 1000 5000 11 0 7 1007",
	"an unsafe clock with too much left":     "CLOCK_UNSAFE 1000 5000 10 11 7 1007",
	"an unsafe clock before the server's":    "CLOCK_UNSAFE 1000 999 10 0 7 1007",
	"incompatible state with a limit":        "STATE_INCOMPATIBLE 1000 1000 10 0 0 0",
	"incompatible state with something left": "STATE_INCOMPATIBLE 1000 1000 0 1 0 0",
	"incompatible state with a retry-after":  "STATE_INCOMPATIBLE 1000 1000 0 0 1 0",
	"incompatible state with a reset":        "STATE_INCOMPATIBLE 1000 1000 0 0 0 1",
	"invalid with a limit":                   "INVALID 1000 1000 10 0 0 0",
	"invalid with something left":            "INVALID 1000 1000 0 1 0 0",
	"invalid with a retry-after":             "INVALID 1000 1000 0 0 1 0",
	"invalid with a reset":                   "INVALID 1000 1000 0 0 0 1",
	"an unknown status":                      "GRANTED 1000 1000 10 9 0 2000",
	"a status in small letters":              "allowed 1000 1000 10 9 0 2000",
	"a status with something after it":       "ALLOWED! 1000 1000 10 9 0 2000",
	"six fields":                             "ALLOWED 1000 1000 10 9 0",
	"eight fields":                           "ALLOWED 1000 1000 10 9 0 2000 0",
	"one field":                              "ALLOWED",
}

// malformedNumbers stand in place of any of the six.
var malformedNumbers = []string{
	"-1", "-0", "+1", "1.0", "1.5", "1e3", "01", "00", "0x1", "abc", "nan", "1_0", "9007199254740992", "18446744073709551617",
	strings.Repeat("1", 33), "'", "'-1", "'-0", "'+1", "'1.0", "'1e3", "'01", "'00", "'abc", "'1_0", "'\u0661",
	"'9007199254740992", "'9223372036854775808", "'" + strings.Repeat("0", 33),
}

// malformedBytes are no array of seven scalars at all.
var malformedBytes = map[string]string{
	"nothing":                          "",
	"a lone type":                      "*",
	"an integer":                       ":1\r\n",
	"a bulk string":                    "$7\r\nALLOWED\r\n",
	"a simple string":                  "+ALLOWED\r\n",
	"a null array":                     "*-1\r\n",
	"a RESP3 null":                     "_\r\n",
	"an empty array":                   "*0\r\n",
	"a RESP3 set":                      strings.Replace(words("ALLOWED 1000 1000 10 9 0 2000"), "*", "~", 1),
	"a RESP3 push":                     strings.Replace(words("ALLOWED 1000 1000 10 9 0 2000"), "*", ">", 1),
	"an array length with a zero":      strings.Replace(words("ALLOWED 1000 1000 10 9 0 2000"), "*7", "*07", 1),
	"a streamed array":                 strings.Replace(words("ALLOWED 1000 1000 10 9 0 2000"), "*7", "*?", 1),
	"bytes after the reply":            words("ALLOWED 1000 1000 10 9 0 2000") + ":1\r\n",
	"a line end after the reply":       words("ALLOWED 1000 1000 10 9 0 2000") + "\r\n",
	"bare line feeds":                  strings.ReplaceAll(words("ALLOWED 1000 1000 10 9 0 2000"), "\r\n", "\n"),
	"the status as a simple string":    strings.Replace(words("ALLOWED 1000 1000 10 9 0 2000"), "$7\r\nALLOWED", "+ALLOWED", 1),
	"the status as an integer":         strings.Replace(words("ALLOWED 1000 1000 10 9 0 2000"), "$7\r\nALLOWED", ":1", 1),
	"the status null":                  strings.Replace(words("ALLOWED 1000 1000 10 9 0 2000"), "$7\r\nALLOWED", "$-1", 1),
	"a number null":                    strings.Replace(words("ALLOWED 1000 1000 10 9 0 2000"), ":2000", "$-1", 1),
	"a number as a double":             strings.Replace(words("ALLOWED 1000 1000 10 9 0 2000"), ":2000", ",2000", 1),
	"a number as a boolean":            strings.Replace(words("ALLOWED 1000 1000 10 9 0 2000"), ":0", "#f", 1),
	"a number as a big number":         strings.Replace(words("ALLOWED 1000 1000 10 9 0 2000"), ":2000", "(2000", 1),
	"a number without digits":          strings.Replace(words("ALLOWED 1000 1000 10 9 0 2000"), ":2000", ":", 1),
	"an array within":                  strings.Replace(words("ALLOWED 1000 1000 10 9 0 2000"), ":2000", "*0", 1),
	"an error within":                  strings.Replace(words("ALLOWED 1000 1000 10 9 0 2000"), ":2000", "-ERR no", 1),
	"a bulk shorter than it says":      strings.Replace(words("ALLOWED 1000 1000 10 9 0 2000"), "$7", "$8", 1),
	"a bulk longer than it says":       strings.Replace(words("ALLOWED 1000 1000 10 9 0 2000"), "$7", "$6", 1),
	"a bulk length with a zero":        strings.Replace(words("ALLOWED 1000 1000 10 9 0 2000"), "$7", "$07", 1),
	"a bulk of two gigabytes":          strings.Replace(words("ALLOWED 1000 1000 10 9 0 2000"), "$7", "$2147483647", 1),
	"a bulk length beyond 64 bits":     strings.Replace(words("ALLOWED 1000 1000 10 9 0 2000"), "$7", "$18446744073709551623", 1),
	"an array of two thousand million": strings.Replace(words("ALLOWED 1000 1000 10 9 0 2000"), "*7", "*2147483647", 1),
	"an error":                         "-ERR no\r\n",
	"a blob error":                     "!6\r\nERR no\r\n",
}

func TestDecode_refusesContradictionsAndOtherForms(t *testing.T) {
	for sentence, line := range contradictory {
		demandRefused(t, sentence, words(line))
		elements := strings.Fields(line)
		for i := range elements[1:] {
			elements[i+1] = "'" + elements[i+1]
		}
		demandRefused(t, sentence+", as strings", array(elements...))
	}
	for i := range 6 {
		for _, number := range malformedNumbers {
			elements := strings.Fields("ALLOWED 1000 1000 10 9 0 2000")
			elements[i+1] = number
			demandRefused(t, "field "+strconv.Itoa(i+1)+" is "+number, array(elements...))
		}
	}
	for sentence, raw := range malformedBytes {
		demandRefused(t, sentence, raw)
	}
	whole := words("ALLOWED 1000 1000 10 9 0 2000")
	for n := range whole {
		demandRefused(t, "the first bytes alone", whole[:n])
	}
}

func demandRefused(t *testing.T, sentence, raw string) {
	t.Helper()
	if got, err := reply.Decode([]byte(raw), limit); err == nil {
		t.Errorf("%s: %q is read as %+v", sentence, raw, got)
	}
}

func TestAsServerError_takesTheFirstWordAsTheCode(t *testing.T) {
	for raw, want := range map[string]string{
		"-NOSCRIPT No matching script.\r\n": "NOSCRIPT",
		"-LOADING\r\n":                      "LOADING",
		"-ERR a  b\r\n":                     "ERR",
		"-\r\n":                             "",
		"-":                                 "",
		"!21\r\nSYNTAX invalid syntax\r\n":  "SYNTAX",
		"!4\r\nBUSY\r\n":                    "BUSY",
		"!":                                 "",
	} {
		got, ok := reply.AsServerError([]byte(raw))
		if !ok || got.Code != want {
			t.Errorf("%q: got %+v, %t, want %q", raw, got, ok, want)
		}
	}
	for _, raw := range []string{"", "+OK\r\n", ":-1\r\n", "$1\r\n-\r\n", " -ERR\r\n"} {
		if got, ok := reply.AsServerError([]byte(raw)); ok {
			t.Errorf("%q is read as error %+v", raw, got)
		}
	}
}

func TestBuffer_takesItsLimitAndNotAByteMore(t *testing.T) {
	for limit, most := range map[int]int{0: reply.MaxBytes, 5: 5} {
		b := reply.Buffer{Limit: limit}
		if _, err := b.Write(make([]byte, most)); err != nil {
			t.Errorf("limit %d: %v", limit, err)
		}
		if _, err := b.Write([]byte{1}); err != reply.ErrTooLong || len(b.Bytes()) != most {
			t.Errorf("limit %d: got %v with %d bytes, want %v with %d", limit, err, len(b.Bytes()), reply.ErrTooLong, most)
		}
	}
}

// FuzzDecode holds that no bytes make the decoder panic, and that only the
// documented code with consistent numbers allows.
func FuzzDecode(f *testing.F) {
	for _, line := range contradictory {
		f.Add([]byte(words(line)), int64(limit))
	}
	for _, raw := range malformedBytes {
		f.Add([]byte(raw), int64(limit))
	}
	for _, line := range []string{"ALLOWED 1000 1000 10 9 0 2000", "DENIED 1000 1001 10 0 5 2000", "CLOCK_UNSAFE 1000 5000 10 0 7 1007"} {
		f.Add([]byte(words(line)), int64(limit))
	}
	f.Fuzz(func(t *testing.T, raw []byte, limit int64) {
		reply.AsServerError(raw)
		got, err := reply.Decode(raw, limit)
		if err != nil {
			return
		}
		if got.Status == model.Allowed {
			plain := array("ALLOWED", decimal(got.ServerNowMillis), decimal(got.EffectiveNowMillis), decimal(limit),
				decimal(got.Remaining), "0", decimal(got.ResetAtMillis))
			again, err := reply.Decode([]byte(plain), limit)
			if err != nil || again != got || got.Remaining > limit || got.Remaining < 0 || got.RetryAfterMillis != 0 ||
				got.EffectiveNowMillis < got.ServerNowMillis || got.ResetAtMillis < got.ServerNowMillis ||
				!strings.HasPrefix(string(raw), "*7\r\n$7\r\nALLOWED\r\n") {
				t.Errorf("%q allows as %+v (%v)", raw, got, err)
			}
		}
	})
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
