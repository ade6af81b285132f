package program_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// argument is one number that a program takes, and its range.
type argument struct {
	name        string
	legal       string
	low, beyond string // the least that is legal, and the first above the most
}

const (
	beyondMax     = "9007199254740992"
	beyondSpan    = "31622400001"
	beyondCounter = "9007199255"
	beyondBucket  = "9007199254741"
)

var arguments = map[string][]argument{
	"rate-fixed-window": {
		{"limit", "10", "1", beyondMax}, {"window", "60000", "1", beyondSpan},
		{"regression", "2000", "0", beyondSpan}, {"grace", "30000", "0", beyondSpan}, {"cost", "1", "1", "11"},
	},
	"rate-sliding-counter": {
		{"limit", "10", "1", beyondCounter}, {"window", "60000", "1", beyondCounter},
		{"regression", "2000", "0", beyondSpan}, {"grace", "30000", "0", beyondSpan}, {"cost", "1", "1", "11"},
	},
	"rate-token-bucket": {
		{"capacity", "10", "1", beyondBucket}, {"refill", "1", "1", beyondBucket}, {"period", "1000", "1", beyondSpan},
		{"regression", "2000", "0", beyondSpan}, {"grace", "30000", "0", beyondSpan}, {"cost", "1", "1", "11"},
	},
}

func legalArguments(p program.Program) []string {
	argv := []string{"1/schema/1"}
	for _, a := range arguments[p.Name] {
		argv = append(argv, a.legal)
	}
	return argv
}

// invocation is one way to call a program.
type invocation struct {
	sentence string
	keys     []string
	argv     []string
}

func invalidInvocations(p program.Program) []invocation {
	legal := legalArguments(p)
	one := []string{"state"}
	rows := []invocation{
		{"there is no key", nil, legal},
		{"there are two keys", []string{"state", "other"}, legal},
		{"there is no argument", one, nil},
		{"the last argument is missing", one, legal[:len(legal)-1]},
		{"an argument is too many", one, append(slices.Clone(legal), "1")},
		{"the schema is empty", one, append([]string{""}, legal[1:]...)},
	}
	with := func(i int, value string) []string {
		argv := slices.Clone(legal)
		argv[i] = value
		return argv
	}
	for i, a := range arguments[p.Name] {
		for what, text := range programtest.Malformed {
			rows = append(rows, invocation{a.name + " " + what, one, with(i+1, text)})
		}
		rows = append(rows, invocation{a.name + " is above its most by one", one, with(i+1, a.beyond)})
		if a.low == "1" {
			rows = append(rows, invocation{a.name + " is zero", one, with(i+1, "0")})
		}
	}
	return rows
}

func TestArguments_whatNoPolicyGivesIsInvalidAndTouchesNothing(t *testing.T) {
	servers(t, func(t *testing.T, client *redis.Client) {
		for _, p := range program.Rates() {
			for _, row := range invalidInvocations(p) {
				got := programtest.Eval(t, client, p, row.keys, row.argv...)
				want := fmt.Sprintf("INVALID %v %v 0 0 0 0", got[1], got[1])
				if programtest.Text(got) != want {
					t.Errorf("%s, %s: got %s, want %s", p.Name, row.sentence, programtest.Text(got), want)
				}
			}
			if got := programtest.Text(programtest.Eval(t, client, p, []string{"legal " + p.Name}, legalArguments(p)...)); got[:7] != "ALLOWED" {
				t.Errorf("%s: legal arguments: %s", p.Name, got)
			}
		}
		if n, err := client.Exists(context.Background(), "state", "other").Result(); n != 0 || err != nil {
			t.Errorf("%d keys written by invalid calls (%v), want 0", n, err)
		}
	})
}

// boundary is one bucket at or beyond a bound that joins two parameters.
type boundary struct {
	sentence string
	bucket   ratelimit.TokenBucket
	legal    bool
}

const day = 24 * time.Hour

// The last legal bucket on one side of each joint bound and the first illegal
// one on the other.
var boundaries = []boundary{
	{"refill and period at the product's bound", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 104249, RefillPeriod: day - time.Millisecond}, true},
	{"refill beyond the product's bound", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 104250, RefillPeriod: day - time.Millisecond}, false},
	{"the largest refill in a millisecond", ratelimit.TokenBucket{Capacity: 1, RefillTokens: 9007199254740, RefillPeriod: time.Millisecond}, true},
	{"366 days from empty to full", ratelimit.TokenBucket{Capacity: 366, RefillTokens: 1, RefillPeriod: day}, true},
	{"367 days from empty to full", ratelimit.TokenBucket{Capacity: 367, RefillTokens: 1, RefillPeriod: day}, false},
	{"366 days by parts from empty to full", ratelimit.TokenBucket{Capacity: 31622400000, RefillTokens: 7, RefillPeriod: 7 * time.Millisecond}, true},
	{"a fraction above 366 days from empty to full", ratelimit.TokenBucket{Capacity: 31622400001, RefillTokens: 999, RefillPeriod: 998 * time.Millisecond}, true},
	{"366 days and a part of a millisecond", ratelimit.TokenBucket{Capacity: 31622400001 * 2, RefillTokens: 2, RefillPeriod: time.Millisecond}, false},
	{"for ever from empty to full", ratelimit.TokenBucket{Capacity: 9007199254740, RefillTokens: 1, RefillPeriod: ratelimit.MaxSpan}, false},
}

func TestArguments_policyAndProgramDrawTheSameBounds(t *testing.T) {
	servers(t, func(t *testing.T, client *redis.Client) {
		for _, row := range boundaries {
			_, err := ratelimit.NewPolicy(ratelimit.PolicyConfig{
				ID: "bounds", Revision: 1, Algorithm: row.bucket, MaxCost: 1, FailureMode: ratelimit.FailClosed,
			})
			if (err == nil) != row.legal {
				t.Errorf("%s: the policy is %v, want legal %t", row.sentence, err, row.legal)
			}
			tokens, period := row.bucket.Rate()
			got := programtest.Eval(t, client, program.TokenBucket, []string{row.sentence}, "schema",
				programtest.Decimal(row.bucket.Capacity), programtest.Decimal(tokens), programtest.Decimal(period), "0", "0", "1")
			if (got[0] == "ALLOWED") != row.legal {
				t.Errorf("%s: the program answers %s, want legal %t", row.sentence, programtest.Text(got), row.legal)
			}
		}
	})
}
