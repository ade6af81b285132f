package cachetest

import (
	"strings"
	"time"

	"github.com/edgelimit/edgelimit/shared-contract/cache"
)

func missesAtFirst(s scene) { s.wantMiss(s.key()) }

func putsAndGets(s scene) {
	k := s.key()
	token := s.wantStored(s.put(k, s.entry("one", long)))
	hit := s.wantHit(k, "one")
	if hit.Token != token || token.IsZero() {
		s.Errorf("got token %x, want %x of the write, and not zero", hit.Token.Bytes(), token.Bytes())
	}
	if hit.TTL <= long-time.Minute || hit.TTL > long {
		s.Errorf("got %v left, want at most %v and hardly less", hit.TTL, long)
	}
}

func putsAgain(s scene) {
	k := s.key()
	first := s.wantStored(s.put(k, s.entry("one", long)))
	second := s.wantStored(s.put(k, s.entry("two", long)))
	if hit := s.wantHit(k, "two"); hit.Token != second || hit.Token == first {
		s.Errorf("got token %x, want %x, not %x", hit.Token.Bytes(), second.Bytes(), first.Bytes())
	}
}

func tokensDiffer(s scene) {
	k := s.key()
	seen := map[cache.Token]bool{}
	for range 50 {
		seen[s.wantStored(s.put(k, s.entry("same", long)))] = true
	}
	if len(seen) != 50 {
		s.Errorf("got %d tokens of 50 writes", len(seen))
	}
}

func tokensLast(s scene) {
	k := s.key()
	s.wantStored(s.put(k, s.entry("one", long)))
	first := s.wantHit(k, "one").Token
	s.pass(s.T, 5*time.Millisecond)
	if second := s.wantHit(k, "one").Token; first != second {
		s.Errorf("got token %x, then %x", first.Bytes(), second.Bytes())
	}
}

func keepsBytes(s scene) {
	for _, value := range []string{
		"", "\x00", "\r\n$-1\r\n", "\xff\xfe", strings.Repeat("\x00", cache.TokenLen), strings.Repeat("v", cache.MaxValueLen),
	} {
		k := s.key()
		s.wantStored(s.put(k, s.entry(value, long)))
		hit := s.wantHit(k, value)
		s.wantStored(s.replace(k, hit.Token, s.entry(value, long)))
		if got := string(s.wantHit(k, value).Value); got != value {
			s.Errorf("got %d bytes, want the %d that were put", len(got), len(value))
		}
		s.wantConflict(s.putIfAbsent(k, s.entry(value, long)))
	}
}

func copiesValues(s scene) {
	k, value := s.key(), []byte("kept")
	entry, err := cache.NewEntry(value, long)
	if err != nil {
		s.Fatal(err)
	}
	s.wantStored(s.put(k, entry))
	copy(value, "lost")
	copy(s.wantHit(k, "kept").Value, "lost")
	copy(entry.Value(), "lost")
	s.wantHit(k, "kept")
}

func separatesKeys(s scene) {
	name := s.key().Name()
	keys := []cache.Key{
		s.keyOf("cachetest", name), s.keyOf("cachetest2", name), s.keyOf("cachetest", name+"2"),
		s.keyOf("cachetest", strings.ToLower(name)), s.keyOf("cachetest", name+"\x00"), s.keyOf("cachetest", name+":"),
		s.keyOf(strings.Repeat("r", cache.MaxRegionLen), name), s.keyOf(strings.Repeat("r", cache.MaxRegionLen-1), name),
		s.keyOf("cachetest", "{"+name+"}"), s.keyOf("cachetest", strings.Repeat(name, 40)[:cache.MaxNameLen]),
		s.keyOf("cachetest", strings.Repeat(name, 40)[:cache.MaxNameLen-1]),
	}
	for i, k := range keys {
		s.wantMiss(k)
		s.wantStored(s.put(k, s.entry(string(rune('a'+i)), long)))
	}
	for i, k := range keys {
		s.wantHit(k, string(rune('a'+i)))
	}
}

func expires(s scene) {
	brief, lasting := s.key(), s.key()
	s.wantStored(s.put(lasting, s.entry("lasting", long)))
	s.wantStored(s.put(brief, s.entry("brief", 40*time.Millisecond)))
	s.pass(s.T, 40*time.Millisecond)
	s.wantMiss(brief)
	s.wantHit(lasting, "lasting")
}

// A reader who is quick sees the milliseconds of a TTL.
func keepsTTLs(s scene) {
	k := s.key()
	s.wantStored(s.put(k, s.entry("longest", cache.MaxTTL)))
	if hit := s.wantHit(k, "longest"); hit.TTL <= cache.MaxTTL-time.Minute || hit.TTL > cache.MaxTTL {
		s.Errorf("got %v left, want at most %v and hardly less", hit.TTL, cache.MaxTTL)
	}
	for range 100 {
		s.wantStored(s.put(k, s.entry("odd", 1999*time.Millisecond)))
		if hit := s.wantHit(k, "odd"); hit.TTL > time.Second {
			return
		}
	}
	s.Error("of 1.999 s there was never more than a second left")
}

func renews(s scene) {
	k := s.key()
	for _, write := range []func(token cache.Token, e cache.Entry) cache.Writing{
		func(_ cache.Token, e cache.Entry) cache.Writing { return s.put(k, e) },
		func(token cache.Token, e cache.Entry) cache.Writing { return s.replace(k, token, e) },
	} {
		token := s.wantStored(s.put(k, s.entry("brief", time.Minute)))
		s.wantStored(write(token, s.entry("lasting", long)))
		if hit := s.wantHit(k, "lasting"); hit.TTL <= time.Minute || hit.TTL > long {
			s.Errorf("got %v left, want the later write's, %v", hit.TTL, long)
		}
		token = s.wantHit(k, "lasting").Token
		s.wantStored(write(token, s.entry("brief", 40*time.Millisecond)))
		s.pass(s.T, 40*time.Millisecond)
		s.wantMiss(k)
	}
}

func deletes(s scene) {
	k := s.key()
	s.wantStored(s.delete(k))
	token := s.wantStored(s.put(k, s.entry("one", long)))
	if got := s.wantStored(s.delete(k)); !got.IsZero() {
		s.Errorf("got token %x of a delete, want none", got.Bytes())
	}
	s.wantMiss(k)
	s.wantConflict(s.replace(k, token, s.entry("two", long)))
	s.wantMiss(k)
}
