package denial_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/denial"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

const ms = time.Millisecond

// hand is a clock that the test moves.
type hand struct{ at time.Duration }

func (h *hand) now() time.Duration { return h.at }

func cache(tb testing.TB, maxEntries int, maxAge time.Duration, clock func() time.Duration) *denial.Cache {
	tb.Helper()
	c, err := denial.New(maxEntries, maxAge, clock)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

var ann = denial.Key{PolicyID: "api", Revision: 3, SubjectDigest: "the-digest-of-ann", Cost: 2}

// denied is what Redis answers to a key.
func denied(k denial.Key, retryAfter time.Duration) ratelimit.Decision {
	return ratelimit.Decision{
		Limit: 10, Remaining: 1, RetryAfter: retryAfter, ObservedAtMillis: 1_700_000_000_123, ResetAtMillis: 1_700_000_060_000,
		PolicyID: k.PolicyID, PolicyRevision: k.Revision, Source: ratelimit.GlobalRedis, Certainty: ratelimit.ApproximateAlgorithm,
	}
}

// TestLookup_repeatsUntilTheEnd sends the question at 1s, and tells what the cache
// answers at other times: the time until a retry, or 0 if it has no answer.
func TestLookup_repeatsUntilTheEnd(t *testing.T) {
	const sent = time.Second
	for _, row := range []struct {
		sentence           string
		retryAfter, maxAge time.Duration
		took               time.Duration // from the question to its answer
		after              time.Duration // since the question
		want               time.Duration
	}{
		{"as it is received", 500 * ms, time.Second, 0, 0, 500 * ms},
		{"a slow answer shows all of the time from its receipt", 500 * ms, time.Second, 100 * ms, 100 * ms, 500 * ms},
		{"the time is counted down from the receipt", 500 * ms, time.Second, 100 * ms, 140 * ms, 460 * ms},
		{"a part of a millisecond counts as a whole one", 500 * ms, time.Second, 0, 40*ms + 1, 460 * ms},
		{"and so does all of it but a nanosecond", 500 * ms, time.Second, 0, 41*ms - 1, 460 * ms},
		{"up to the last moment in which a retry is surely too early", 500 * ms, time.Second, 0, 499*ms - 1, 2 * ms},
		{"and not in the server's own millisecond", 500 * ms, time.Second, 0, 499 * ms, 0},
		{"nor later", 500 * ms, time.Second, 0, 501 * ms, 0},
		{"a slow answer lives no longer", 500 * ms, time.Second, 100 * ms, 499*ms - 1, 102 * ms},
		{"a slow answer ends at the same moment", 500 * ms, time.Second, 100 * ms, 499 * ms, 0},
		{"an answer slower than its life is not kept", 500 * ms, time.Second, 499 * ms, 499 * ms, 0},
		{"up to the last moment of the age", time.Hour, time.Second, 0, time.Second - 1, time.Hour - 999*ms},
		{"and not at the age", time.Hour, time.Second, 0, time.Second, 0},
		{"the age of a slow answer counts from its question too", time.Hour, time.Second, 900 * ms, time.Second, 0},
		{"the shortest denial is none to repeat", 1 * ms, time.Second, 0, 0, 0},
		{"two milliseconds are", 2 * ms, time.Second, 0, 1*ms - 1, 2 * ms},
	} {
		clock := &hand{at: sent + row.took}
		c := cache(t, 1, row.maxAge, clock.now)
		c.Store(ann, denied(ann, row.retryAfter), sent, clock.at)
		clock.at = sent + row.after
		got, hit := c.Lookup(ann)
		if got.RetryAfter != row.want || hit != (row.want > 0) {
			t.Errorf("%s: got %v, %t, want %v", row.sentence, got.RetryAfter, hit, row.want)
		}
	}
}

func TestLookup_changesTheSourceAndTheRetryAlone(t *testing.T) {
	clock := &hand{}
	c := cache(t, 1, time.Second, clock.now)
	c.Store(ann, denied(ann, 500*ms), 0, 0)
	clock.at = 100 * ms
	want := denied(ann, 400*ms)
	want.Source = ratelimit.LocalDenialCache
	for range 2 {
		if got, hit := c.Lookup(ann); got != want || !hit {
			t.Errorf("got %+v, %t, want %+v", got, hit, want)
		}
	}
}

func TestLookup_answersTheSameQuestionAlone(t *testing.T) {
	for sentence, change := range map[string]func(*denial.Key){
		"a greater cost":   func(k *denial.Key) { k.Cost++ },
		"a smaller cost":   func(k *denial.Key) { k.Cost-- },
		"another policy":   func(k *denial.Key) { k.PolicyID = "ap" },
		"a later revision": func(k *denial.Key) { k.Revision++ },
		"another subject":  func(k *denial.Key) { k.SubjectDigest = "the-digest-of-bob" },
	} {
		clock := &hand{}
		c := cache(t, 2, time.Second, clock.now)
		c.Store(ann, denied(ann, 500*ms), 0, 0)
		other := ann
		change(&other)
		if got, hit := c.Lookup(other); hit {
			t.Errorf("%s: got %+v, want no answer", sentence, got)
		}
		c.Store(other, denied(other, 900*ms), 0, 0)
		if got, _ := c.Lookup(other); got.RetryAfter != 900*ms {
			t.Errorf("%s: got %v after its own denial, want 900ms", sentence, got.RetryAfter)
		}
		if got, _ := c.Lookup(ann); got.RetryAfter != 500*ms {
			t.Errorf("%s: got %v for the first, want 500ms still", sentence, got.RetryAfter)
		}
	}
}

func TestStore_neverKeepsAnAllow(t *testing.T) {
	c := cache(t, 1, time.Second, (&hand{}).now)
	allowed := denied(ann, time.Second) // with what no allow has, too
	allowed.Allowed = true
	c.Store(ann, allowed, 0, 0)
	if got, hit := c.Lookup(ann); hit {
		t.Errorf("got %+v, want no answer", got)
	}
}

func TestStore_givesNoRoomToWhatIsOver(t *testing.T) {
	c := cache(t, 1, time.Second, (&hand{}).now)
	c.Store(ann, denied(ann, 500*ms), 0, 0)
	bob := ann
	bob.SubjectDigest = "the-digest-of-bob"
	c.Store(bob, denied(bob, 500*ms), 0, 499*ms)
	if _, hit := c.Lookup(ann); !hit {
		t.Error("what was over when it came took the place of what is not")
	}
}

func TestStore_replacesTheDenialOfTheSameQuestion(t *testing.T) {
	clock := &hand{}
	c := cache(t, 2, time.Second, clock.now)
	bob := ann
	bob.SubjectDigest = "the-digest-of-bob"
	c.Store(bob, denied(bob, 700*ms), 0, 0)
	for range 5 {
		clock.at += 10 * ms
		c.Store(ann, denied(ann, 500*ms), clock.at, clock.at)
	}
	clock.at += 520 * ms // the last one is over by now
	if got, hit := c.Lookup(ann); hit {
		t.Errorf("got %+v, want no answer", got)
	}
	if _, hit := c.Lookup(bob); !hit {
		t.Error("one question's denials took another's place")
	}
}

func TestStore_keepsItsOwnCopyOfTheSubject(t *testing.T) {
	c := cache(t, 1, time.Second, (&hand{}).now)
	request := strings.Repeat("x", 1<<20) + ann.SubjectDigest
	k := ann
	k.SubjectDigest = request[1<<20:]
	if got := testing.AllocsPerRun(100, func() { c.Store(k, denied(k, time.Second), 0, 0) }); got != 1 {
		t.Errorf("%v allocations, want that of the copy", got)
	}
	if _, hit := c.Lookup(ann); !hit {
		t.Error("the copy is not found by its text")
	}
}

func TestNew_refusesWhatIsOutOfBounds(t *testing.T) {
	for _, row := range []struct {
		maxEntries int
		maxAge     time.Duration
		want       string // "" is none
	}{
		{1, ms, ""},
		{denial.MostEntries, denial.LongestAge, ""},
		{0, ms, "0 entries is outside 1 to 1000000"},
		{denial.MostEntries + 1, ms, "1000001 entries is outside"},
		{1, ms - 1, "age 999.999µs is outside 1ms to 10s"},
		{1, denial.LongestAge + 1, "age 10.000000001s is outside"},
		{-1, 0, "-1 entries is outside 1 to 1000000\ndenial cache: age 0s"},
	} {
		c, err := denial.New(row.maxEntries, row.maxAge, nil)
		if got := fmt.Sprint(err); row.want == "" && err != nil || !strings.Contains(got, row.want) || (c == nil) != (err != nil) {
			t.Errorf("%d entries of %v: got %v, want %q", row.maxEntries, row.maxAge, err, row.want)
		}
	}
}

func TestCache_nilHoldsNone(t *testing.T) {
	var c *denial.Cache
	c.Store(ann, denied(ann, time.Second), c.Now(), c.Now())
	if got, hit := c.Lookup(ann); hit {
		t.Errorf("got %+v, want no answer", got)
	}
}

func TestCache_countsByTheProcessClock(t *testing.T) {
	c := cache(t, 1, denial.LongestAge, nil)
	now := c.Now()
	c.Store(ann, denied(ann, time.Hour), now, now)
	got, hit := c.Lookup(ann)
	if again := c.Now(); !hit || again < now || got.RetryAfter < time.Hour-(again-now) || got.RetryAfter > time.Hour {
		t.Errorf("got %v, %t, from %v to %v", got.RetryAfter, hit, now, again)
	}
}
