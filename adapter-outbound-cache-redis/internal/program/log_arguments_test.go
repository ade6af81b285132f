package program_test

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
)

const beyondWindow = "31622400000001" // microseconds: 366 days and one

// invalidLogCalls are calls of the log program that no limiter makes.
func invalidLogCalls() []invocation {
	one, two := []string{"outer"}, []string{"outer", "inner"}
	rows := []invocation{
		{"there is no key", nil, []string{"1000000"}},
		{"there is no key, and a limit", nil, []string{"1000000", "5"}},
		{"there are three keys", []string{"outer", "inner", "third"}, []string{"1000000", "5", "5", "5"}},
		{"there is no argument", one, nil},
		{"there is no limit", one, []string{"1000000"}},
		{"there is one limit for two keys", two, []string{"1000000", "5"}},
		{"there are two limits for one key", one, []string{"1000000", "5", "5"}},
		{"there are three limits for two keys", two, []string{"1000000", "5", "5", "5"}},
	}
	argumentsOfTwo := []string{"1000000", "5", "5"}
	with := func(i int, value string) []string {
		argv := slices.Clone(argumentsOfTwo)
		argv[i] = value
		return argv
	}
	for i, name := range []string{"window", "outer limit", "inner limit"} {
		for what, text := range programtest.Malformed {
			rows = append(rows, invocation{name + " " + what, two, with(i, text)})
			if i < 2 {
				rows = append(rows, invocation{name + " of one layer " + what, one, with(i, text)[:2]})
			}
		}
	}
	return append(rows,
		invocation{"the window is zero", two, with(0, "0")},
		invocation{"the window is above its most by one", two, with(0, beyondWindow)},
		invocation{"the outer limit is above its most by one", two, with(1, beyondMax)},
		invocation{"the inner limit is above its most by one", two, with(2, beyondMax)})
}

func TestLog_whatNoLimiterAsksIsInvalidAndTouchesNothing(t *testing.T) {
	servers(t, func(t *testing.T, client *redis.Client) {
		for _, row := range invalidLogCalls() {
			if got := programtest.Text(programtest.Eval(t, client, program.SlidingLog, row.keys, row.argv...)); got != "INVALID 0 0 0 0 0" {
				t.Errorf("%s: got %s, want INVALID 0 0 0 0 0", row.sentence, got)
			}
		}
		if n, err := client.Exists(context.Background(), "outer", "inner", "third").Result(); n != 0 || err != nil {
			t.Errorf("%d keys written by invalid calls (%v), want 0", n, err)
		}
	})
}

// The ends of each range are legal, so that the table above fails for the reason
// that its sentence gives.
func TestLog_theEndsOfEachRangeAreLegal(t *testing.T) {
	servers(t, func(t *testing.T, client *redis.Client) {
		for i, argv := range [][]string{
			{"1", "1", "1"}, {"31622400000000", "1", "1"}, {"1000000", "9007199254740991", "1"}, {"1000000", "1", "9007199254740991"},
		} {
			keys := []string{"outer " + strconv.Itoa(i), "inner " + strconv.Itoa(i)}
			if got := programtest.Eval(t, client, program.SlidingLogDual, keys, argv...); got[0] != "ALLOWED" {
				t.Errorf("%q: got %s, want ALLOWED", argv, programtest.Text(got))
			}
		}
		for _, argv := range [][]string{{"1000000", "0", "1"}, {"1000000", "1", "0"}} {
			if got := programtest.Eval(t, client, program.SlidingLogDual, []string{"outer", "inner"}, argv...); got[0] != "DENIED" {
				t.Errorf("%q: got %s, want DENIED", argv, programtest.Text(got))
			}
		}
	})
}
