package secret_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/shared-contract/secret"
)

const word = "correct-horse-battery-staple-123" // 32 bytes

func TestNew_demands32Bytes(t *testing.T) {
	if s, err := secret.New([]byte(word)[:31]); err == nil || !s.IsZero() {
		t.Errorf("31 bytes: got %v and no error", s)
	} else if strings.Contains(err.Error(), word[:31]) {
		t.Errorf("the error repeats the secret: %v", err)
	}
	if s, err := secret.New([]byte(word)); err != nil || s.IsZero() {
		t.Errorf("32 bytes: got %v", err)
	}
	if _, err := secret.New(nil); err == nil {
		t.Error("no bytes: got no error")
	}
}

func TestFromFile_dropsOneNewline(t *testing.T) {
	plain := key(t, []byte(word))
	for _, row := range []struct {
		sentence string
		content  string
		same     bool // as the content without any newline
	}{
		{"no newline", word, true},
		{"a newline", word + "\n", true},
		{"a newline of two characters", word + "\r\n", true},
		{"two newlines, of which one counts", word + "\n\n", false},
		{"a carriage return alone, which counts", word + "\r", false},
		{"a space, which counts", word + " ", false},
		{"a newline in front, which counts", "\n" + word, false},
	} {
		s, err := secret.FromFile([]byte(row.content))
		if err != nil {
			t.Errorf("%s: %v", row.sentence, err)
			continue
		}
		if got := bytes.Equal(s.Key("test"), plain); got != row.same {
			t.Errorf("%s: got the plain secret %t, want %t", row.sentence, got, row.same)
		}
	}
	if _, err := secret.FromFile([]byte(word[:31] + "\n")); err == nil {
		t.Error("31 bytes and a newline: got no error")
	}
}

func TestKey_ofEachPurposeIsAnotherAndNeverChanges(t *testing.T) {
	const golden = "3239cb0a"
	s := made(t, []byte(word))
	if got := hex.EncodeToString(s.Key("subject"))[:8]; got != golden {
		t.Errorf("got a key that begins with %s, want %s: every digest and key would change", got, golden)
	}
	if bytes.Equal(s.Key("subject"), s.Key("redis")) || len(s.Key("redis")) != 32 {
		t.Error("two purposes have one key, or one is not 32 bytes long")
	}
	other := made(t, []byte(strings.ToUpper(word)))
	if bytes.Equal(s.Key("subject"), other.Key("subject")) {
		t.Error("two secrets have one key")
	}
}

func TestKey_ofTheZeroSecretPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("got a key that anybody could derive")
		}
	}()
	secret.Secret{}.Key("subject")
}

func TestNew_keepsItsOwnCopy(t *testing.T) {
	given := []byte(word)
	s := made(t, given)
	before := s.Key("test")
	clear(given)
	if !bytes.Equal(s.Key("test"), before) {
		t.Error("the caller can change the secret")
	}
}

func TestSecret_neverPrintsItself(t *testing.T) {
	s := made(t, []byte(word))
	type exported struct{ Secret secret.Secret }
	type unexported struct{ secret secret.Secret }
	type pointer struct{ secret *secret.Secret }
	type nested struct {
		list   []secret.Secret
		byName map[string]unexported
	}
	leaks := []string{word, hex.EncodeToString([]byte(word)), strings.ToUpper(hex.EncodeToString([]byte(word))),
		strings.Trim(fmt.Sprint([]byte(word[:8])), "[]"), "0x63, 0x6f, 0x72", "Y29ycmVjd"}
	for _, holder := range []any{
		s, &s, exported{s}, &exported{s}, unexported{s}, &unexported{s}, pointer{&s},
		nested{[]secret.Secret{s}, map[string]unexported{"a": {s}}}, []secret.Secret{s}, map[string]secret.Secret{"a": s},
	} {
		printed := []string{}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%c", "%U"} {
			printed = append(printed, fmt.Sprintf(verb, holder))
		}
		encoded, err := json.Marshal(holder)
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("text", "holder", holder)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("json", "holder", holder)
		printed = append(printed, string(encoded), log.String(), fmt.Errorf("wrap: %v", holder).Error())
		for _, text := range printed {
			for _, leak := range leaks {
				if strings.Contains(text, leak) {
					t.Errorf("%T prints itself: %s", holder, text)
				}
			}
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(verb, s); got != "[redacted]" {
			t.Errorf("%s: got %s, want [redacted]", verb, got)
		}
	}
}

func made(t *testing.T, b []byte) secret.Secret {
	t.Helper()
	s, err := secret.New(b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func key(t *testing.T, b []byte) []byte {
	t.Helper()
	return made(t, b).Key("test")
}
