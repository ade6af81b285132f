package cache_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/cache"
)

func TestNewKey_bounds(t *testing.T) {
	for _, row := range []struct {
		sentence, region, name string
		ok                     bool
	}{
		{"a region and a name", "limits", "acme", true},
		{"a region of one character", "l", "acme", true},
		{"a region of 64", strings.Repeat("l", 64), "acme", true},
		{"a region of 65", strings.Repeat("l", 65), "acme", false},
		{"no region", "", "acme", false},
		{"a region that would join another's key", "limits:acme", "x", false},
		{"a region in upper case", "Limits", "acme", false},
		{"a region that begins with a dot", ".limits", "acme", false},
		{"a region with a line break at its end", "limits\n", "acme", false},
		{"no name", "limits", "", false},
		{"a name of any bytes", "limits", "\x00\xff{}:%\r\n", true},
		{"the longest name", "limits", strings.Repeat("n", cache.MaxNameLen), true},
		{"a name too long", "limits", strings.Repeat("n", cache.MaxNameLen+1), false},
	} {
		k, err := cache.NewKey(row.region, row.name)
		if ok := err == nil; ok != row.ok {
			t.Errorf("%s: got error %v, want ok %v", row.sentence, err, row.ok)
		}
		if k.IsZero() == row.ok {
			t.Errorf("%s: got zero key %v, want %v", row.sentence, k.IsZero(), !row.ok)
		}
		if row.ok && (k.Region() != row.region || k.Name() != row.name) {
			t.Errorf("%s: got %q, %q", row.sentence, k.Region(), k.Name())
		}
	}
}

func TestNewEntry_bounds(t *testing.T) {
	for _, row := range []struct {
		sentence string
		len      int
		ttl      time.Duration
		ok       bool
	}{
		{"an empty value", 0, time.Second, true},
		{"the longest value", cache.MaxValueLen, time.Second, true},
		{"a value too long", cache.MaxValueLen + 1, time.Second, false},
		{"the least TTL", 1, time.Millisecond, true},
		{"the longest TTL", 1, cache.MaxTTL, true},
		{"no TTL", 1, 0, false},
		{"a TTL in the past", 1, -time.Second, false},
		{"a TTL below a millisecond", 1, time.Millisecond - 1, false},
		{"a TTL of a millisecond and a half", 1, 1500 * time.Microsecond, false},
		{"a TTL too long", 1, cache.MaxTTL + time.Millisecond, false},
	} {
		e, err := cache.NewEntry(make([]byte, row.len), row.ttl)
		if ok := err == nil; ok != row.ok {
			t.Errorf("%s: got error %v, want ok %v", row.sentence, err, row.ok)
		}
		if e.IsZero() == row.ok {
			t.Errorf("%s: got zero entry %v, want %v", row.sentence, e.IsZero(), !row.ok)
		}
		if row.ok && (len(e.Value()) != row.len || e.TTL() != row.ttl) {
			t.Errorf("%s: got %d bytes for %v", row.sentence, len(e.Value()), e.TTL())
		}
	}
}

func TestToken_isWhatItsBytesSay(t *testing.T) {
	a, b := cache.NewToken(), cache.NewToken()
	if a == b || a.IsZero() {
		t.Errorf("got %x and %x, want two tokens", a.Bytes(), b.Bytes())
	}
	again, ok := cache.ParseToken(a.Bytes())
	if !ok || again != a {
		t.Errorf("got %x, %v, want %x", again.Bytes(), ok, a.Bytes())
	}
	for _, none := range [][]byte{nil, make([]byte, cache.TokenLen), make([]byte, cache.TokenLen-1), bytes.Repeat([]byte{1}, cache.TokenLen+1)} {
		if got, ok := cache.ParseToken(none); ok {
			t.Errorf("%x: got the token %x, want none", none, got.Bytes())
		}
	}
}

func TestResults_areReadByMatchAlone(t *testing.T) {
	token := cache.NewToken()
	reading := func(r cache.Reading) string {
		return cache.MatchReading(r,
			func(h cache.Hit) string { return "hit " + string(h.Value) + h.TTL.String() },
			func(cache.Miss) string { return "miss" },
			func(u cache.Unavailable) string { return "unavailable " + string(u.Cause) })
	}
	writing := func(w cache.Writing) string {
		return cache.MatchWriting(w,
			func(s cache.Stored) string {
				if s.Token == token {
					return "stored"
				}
				return "stored by another token"
			},
			func(cache.Conflict) string { return "conflict" },
			func(u cache.Unavailable) string { return "unavailable " + string(u.Cause) })
	}
	for _, row := range []struct{ got, want string }{
		{reading(cache.Hit{Value: []byte("v"), Token: token, TTL: time.Second}.Reading()), "hit v1s"},
		{reading(cache.Miss{}.Reading()), "miss"},
		{reading(cache.Unavailable{Cause: cause}.Reading()), "unavailable SERVER"},
		{reading(cache.Unavailable{}.Reading()), "unavailable UNKNOWN"},
		{reading(cache.Reading{}), "unavailable UNKNOWN"},
		{writing(cache.Stored{Token: token}.Writing()), "stored"},
		{writing(cache.Conflict{}.Writing()), "conflict"},
		{writing(cache.Unavailable{Cause: cause}.Writing()), "unavailable SERVER"},
		{writing(cache.Unavailable{}.Writing()), "unavailable UNKNOWN"},
		{writing(cache.Writing{}), "unavailable UNKNOWN"},
	} {
		if row.got != row.want {
			t.Errorf("got %q, want %q", row.got, row.want)
		}
	}
}

const cause = cache.CauseServer
