package certainty_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

func policy(t *testing.T) ratelimit.Policy {
	t.Helper()
	p, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: "api", Revision: 3, Algorithm: ratelimit.SlidingWindowCounter{Limit: 10, Window: time.Minute}, MaxCost: 1,
		FailureMode: ratelimit.FailClosed,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// say is an outcome in one line.
func say(o ratelimit.Outcome) string {
	return ratelimit.Match(o,
		func(e ratelimit.Evaluated) string { return fmt.Sprintf("evaluated %+v", e.Decision) },
		func(u ratelimit.Unavailable) string {
			return fmt.Sprintf("unavailable %s %s %v", u.PolicyID, u.Category, u.RetryAfter)
		},
		func(i ratelimit.Indeterminate) string {
			return fmt.Sprintf("indeterminate %s %v", i.PolicyID, i.RetryAfter)
		},
		func(i ratelimit.Incompatible) string {
			return fmt.Sprintf("incompatible %s %s", i.PolicyID, i.Category)
		})
}

// raw is a reply of seven fields.
func raw(line string) []byte {
	words := strings.Fields(line)
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n$%d\r\n%s\r\n", len(words), len(words[0]), words[0])
	for _, word := range words[1:] {
		fmt.Fprintf(&b, ":%s\r\n", word)
	}
	return []byte(b.String())
}

func refused(why certainty.Refusal) certainty.Result {
	return certainty.Result{Fate: certainty.Refused, Refusal: why}
}

func answered(reply string) certainty.Result {
	return certainty.Result{Fate: certainty.Answered, Raw: []byte(reply)}
}

func failed(code string) certainty.Result { return answered("-" + code + " and why\r\n") }

const (
	alive  = certainty.Alive
	silent = certainty.Silent
	dead   = certainty.Dead
)

// table is the whole table: how far one evaluation got, what that proves to its
// caller, and what it tells the breaker.
var table = []struct {
	sentence string
	result   certainty.Result
	want     string
	vitality certainty.Vitality
}{
	{"nothing is known of it", certainty.Result{}, "indeterminate api 1s", silent},
	{"too little time is left", refused(certainty.Deadline), "unavailable api DEADLINE 1s", silent},
	{"every place is taken", refused(certainty.Overloaded), "unavailable api OVERLOADED 1s", silent},
	{"a dial is still in progress", refused(certainty.Dialing), "unavailable api CONNECTION 1s", silent},
	{"the dial failed", refused(certainty.Unreachable), "unavailable api CONNECTION 1s", dead},
	{"the breaker is open", refused(certainty.BreakerOpen), "unavailable api CONNECTION 1s", silent},
	{"the password is refused", refused(certainty.Credentials), "unavailable api CREDENTIALS 1s", silent},
	{"the handshake says that it cannot serve", refused(certainty.Server), "unavailable api SERVER 1s", silent},
	{"the server is too old", refused(certainty.Program), "incompatible api PROGRAM", silent},
	{"a refusal that nobody knows", refused(99), "incompatible api PROGRAM", silent},

	{"LOADING", failed("LOADING"), "unavailable api SERVER 1s", alive},
	{"READONLY", failed("READONLY"), "unavailable api SERVER 1s", alive},
	{"MASTERDOWN", failed("MASTERDOWN"), "unavailable api SERVER 1s", alive},
	{"CLUSTERDOWN", failed("CLUSTERDOWN"), "unavailable api SERVER 1s", alive},
	{"TRYAGAIN", failed("TRYAGAIN"), "unavailable api SERVER 1s", alive},
	{"MOVED", failed("MOVED"), "unavailable api SERVER 1s", alive},
	{"ASK", failed("ASK"), "unavailable api SERVER 1s", alive},
	{"BUSY", failed("BUSY"), "unavailable api SERVER 1s", alive},
	{"OOM", failed("OOM"), "unavailable api SERVER 1s", alive},
	{"MISCONF", failed("MISCONF"), "unavailable api SERVER 1s", alive},
	{"NOREPLICAS", failed("NOREPLICAS"), "unavailable api SERVER 1s", alive},
	{"NOAUTH", failed("NOAUTH"), "unavailable api CREDENTIALS 1s", alive},
	{"NOPERM", failed("NOPERM"), "unavailable api CREDENTIALS 1s", alive},
	{"WRONGPASS", failed("WRONGPASS"), "unavailable api CREDENTIALS 1s", alive},
	{"a script error", failed("ERR"), "incompatible api PROGRAM", alive},
	{"NOSCRIPT after the source was sent", failed("NOSCRIPT"), "incompatible api PROGRAM", alive},
	{"WRONGTYPE", failed("WRONGTYPE"), "incompatible api PROGRAM", alive},
	{"a code in small letters", failed("oom"), "incompatible api PROGRAM", alive},
	{"a code that a word follows closely", failed("OOM,"), "incompatible api PROGRAM", alive},
	{"an error without a code", answered("-\r\n"), "incompatible api PROGRAM", alive},
	{"a code in a blob error", answered("!10\r\nBUSY later\r\n"), "unavailable api SERVER 1s", alive},

	{"the command timed out", certainty.Result{TimedOut: true, Err: errors.New("i/o timeout")}, "indeterminate api 1s", dead},
	{"the connection broke", certainty.Result{Err: errors.New("EOF")}, "indeterminate api 1s", silent},
	{"the caller left", certainty.Result{CallerLeft: true}, "indeterminate api 1s", silent},
	{"the caller left a command that timed out", certainty.Result{CallerLeft: true, TimedOut: true}, "indeterminate api 1s", silent},

	{"a reply that could not be read", certainty.Result{Fate: certainty.Answered, Err: errors.New("too long")}, "incompatible api REPLY", alive},
	{"a reply of another form", answered("+OK\r\n"), "incompatible api REPLY", alive},
	{"a reply of six fields", certainty.Result{Fate: certainty.Answered, Raw: raw("ALLOWED 1000 1000 10 9 0")}, "incompatible api REPLY", alive},
	{"a contradictory reply", certainty.Result{Fate: certainty.Answered, Raw: raw("ALLOWED 1000 1000 11 9 0 2000")}, "incompatible api REPLY", alive},
	{"STATE_INCOMPATIBLE", certainty.Result{Fate: certainty.Answered, Raw: raw("STATE_INCOMPATIBLE 1000 1000 0 0 0 0")}, "incompatible api STATE", alive},
	{"INVALID", certainty.Result{Fate: certainty.Answered, Raw: raw("INVALID 1000 1000 0 0 0 0")}, "incompatible api PROGRAM", alive},
	{"CLOCK_UNSAFE", certainty.Result{Fate: certainty.Answered, Raw: raw("CLOCK_UNSAFE 1000 9000 10 0 7000 8000")}, "unavailable api CLOCK 7s", alive},
	{"CLOCK_UNSAFE for ages", certainty.Result{Fate: certainty.Answered, Raw: raw("CLOCK_UNSAFE 1000 9007199254740991 10 0 9007199254739991 9007199254740991")}, "unavailable api CLOCK 8784h0m0s", alive},
	{
		"ALLOWED", certainty.Result{Fate: certainty.Answered, Raw: raw("ALLOWED 1000 1500 10 9 0 2000")},
		"evaluated {Allowed:true Limit:10 Remaining:9 RetryAfter:0s ObservedAtMillis:1000 ResetAtMillis:2000 PolicyID:api PolicyRevision:3 Source:GLOBAL_REDIS Certainty:APPROXIMATE_ALGORITHM}",
		alive,
	},
	{
		"DENIED", certainty.Result{Fate: certainty.Answered, Raw: raw("DENIED 1000 1000 10 2 250 2000")},
		"evaluated {Allowed:false Limit:10 Remaining:2 RetryAfter:250ms ObservedAtMillis:1000 ResetAtMillis:2000 PolicyID:api PolicyRevision:3 Source:GLOBAL_REDIS Certainty:APPROXIMATE_ALGORITHM}",
		alive,
	},
}

func TestOutcome_theWholeTable(t *testing.T) {
	p := policy(t)
	for _, row := range table {
		got := certainty.Outcome(p, row.result)
		if say(got) != row.want {
			t.Errorf("%s: got %s, want %s", row.sentence, say(got), row.want)
		}
		if got.Allows() != (row.sentence == "ALLOWED") {
			t.Errorf("%s: allows is %t", row.sentence, got.Allows())
		}
	}
}

func TestVitality_theWholeTable(t *testing.T) {
	for _, row := range table {
		if got := row.result.Vitality(); got != row.vitality {
			t.Errorf("%s: got %d, want %d", row.sentence, got, row.vitality)
		}
	}
}

// FuzzOutcome holds that no bytes of a server make an allow but a whole reply of
// the one status.
func FuzzOutcome(f *testing.F) {
	for _, row := range table {
		f.Add(row.result.Raw)
	}
	p, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
		ID: "api", Revision: 1, Algorithm: ratelimit.FixedWindow{Limit: 10, Window: time.Minute}, MaxCost: 1,
		FailureMode: ratelimit.FailClosed,
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, reply []byte) {
		o := certainty.Outcome(p, certainty.Result{Fate: certainty.Answered, Raw: reply})
		if o.Allows() && !strings.HasPrefix(string(reply), "*7\r\n$7\r\nALLOWED\r\n") {
			t.Errorf("%q allows", reply)
		}
	})
}
