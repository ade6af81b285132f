package key_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/key"
	"github.com/edgelimit/edgelimit/shared-contract/secret"
)

func secretOf(t testing.TB, text string) secret.Secret {
	t.Helper()
	s, err := secret.New([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func builder(t testing.TB) key.Builder {
	t.Helper()
	b, err := key.NewBuilder("edgelimit", secretOf(t, "0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestKey_golden fails when an encoding changes: everybody would get a fresh
// allowance.
func TestKey_golden(t *testing.T) {
	got := builder(t).Series("rate", "api", "state", "api", "1", "token-bucket").Key("subject-digest-0001")
	if want := "edgelimit:v1:rate:api:state:110Olpei5LFrgfs0vj_3Er"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The same key from the words of the specification alone.
func TestKey_isTheMACOfTheLengthPrefixedParts(t *testing.T) {
	parts := []string{"api", "1", "token-bucket", "subject-digest-0001"}
	mac := hmac.New(sha256.New, secretOf(t, "0123456789abcdef0123456789abcdef").Key("redis-key"))
	for _, part := range parts {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		mac.Write([]byte(part))
	}
	want := "edgelimit:v1:rate:api:state:" + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))[:22]
	if got := builder(t).Series("rate", "api", "state", parts[:3]...).Key(parts[3]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestKey_everythingThatTellsPoliciesApartChangesIt(t *testing.T) {
	b := builder(t)
	base := b.Series("rate", "api", "state", "api", "1", "token-bucket").Key("subject-digest-0001")
	other, err := key.NewBuilder("edgelimit", secretOf(t, "another secret of thirty-two byte"))
	if err != nil {
		t.Fatal(err)
	}
	for sentence, changed := range map[string]string{
		"another policy":    b.Series("rate", "api", "state", "apj", "1", "token-bucket").Key("subject-digest-0001"),
		"another revision":  b.Series("rate", "api", "state", "api", "2", "token-bucket").Key("subject-digest-0001"),
		"another algorithm": b.Series("rate", "api", "state", "api", "1", "fixed-window").Key("subject-digest-0001"),
		"another subject":   b.Series("rate", "api", "state", "api", "1", "token-bucket").Key("subject-digest-0002"),
		"another secret":    other.Series("rate", "api", "state", "api", "1", "token-bucket").Key("subject-digest-0001"),
		"another kind":      b.Series("rate", "api", "probe", "api", "1", "token-bucket").Key("subject-digest-0001"),
	} {
		if changed == base {
			t.Errorf("%s has the same key %s", sentence, base)
		}
	}
}

func TestNewBuilder_refusesWhatIsNoPrefix(t *testing.T) {
	good := secretOf(t, "0123456789abcdef0123456789abcdef")
	for _, prefix := range []string{"", "A", "a:b", "{a}", "a b", "a\n", "ä", "a*", strings.Repeat("a", 33)} {
		if _, err := key.NewBuilder(prefix, good); err == nil {
			t.Errorf("prefix %q is accepted", prefix)
		}
	}
	for _, prefix := range []string{"a", "a-b_c.9", strings.Repeat("a", 32)} {
		if _, err := key.NewBuilder(prefix, good); err != nil {
			t.Errorf("prefix %q: %v", prefix, err)
		}
	}
	if _, err := key.NewBuilder("edgelimit", secret.Secret{}); err == nil {
		t.Error("the zero Secret is accepted")
	}
}

func TestKey_manyAtOnceAreTheKeysOfOneAtATime(t *testing.T) {
	series := builder(t).Series("rate", "api", "state", "api", "1", "token-bucket")
	subjects := make([]string, 200)
	want := make([]string, len(subjects))
	for i := range subjects {
		subjects[i] = strings.Repeat("s", 16+i)
		want[i] = series.Key(subjects[i])
	}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for i, subject := range subjects {
				if got := series.Key(subject); got != want[i] {
					t.Errorf("got %s, want %s", got, want[i])
				}
			}
		})
	}
	all.Wait()
}

var form = regexp.MustCompile(`^edgelimit:v1:rate:api:state:[A-Za-z0-9_-]{22}$`)

// FuzzKey holds that two different part lists never share a key, however their
// texts are cut, and that no part shows in it.
func FuzzKey(f *testing.F) {
	f.Add("api", "1", "ap", "i1")
	f.Add("", "a", "a", "")
	f.Add("\x00", "\x00\x00", "\x00\x00", "\x00")
	f.Add("{a}", ":", "{a", "}:")
	b := builder(f)
	f.Fuzz(func(t *testing.T, a1, a2, b1, b2 string) {
		keyA := b.Series("rate", "api", "state", a1).Key(a2)
		keyB := b.Series("rate", "api", "state", b1).Key(b2)
		joined := b.Series("rate", "api", "state").Key(a1 + a2)
		if !form.MatchString(keyA) {
			t.Errorf("key %q", keyA)
		}
		if same := slices.Equal([]string{a1, a2}, []string{b1, b2}); same != (keyA == keyB) {
			t.Errorf("%q %q and %q %q: keys %s and %s", a1, a2, b1, b2, keyA, keyB)
		}
		if keyA == joined {
			t.Errorf("%q %q has the key of its parts joined", a1, a2)
		}
	})
}
