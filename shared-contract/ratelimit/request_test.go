package ratelimit_test

import (
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

func TestRequest_check(t *testing.T) {
	c := valid()
	c.MaxCost = 5
	p := must(t, c)
	digest := strings.Repeat("a", 22)
	for _, row := range []struct {
		sentence string
		req      ratelimit.Request
		refusals []string // none if it is served
	}{
		{"a cost of 1", ratelimit.Request{PolicyID: "api", SubjectDigest: digest, Cost: 1}, nil},
		{"the maximum cost", ratelimit.Request{PolicyID: "api", SubjectDigest: digest, Cost: 5}, nil},
		{"a cost above the maximum", ratelimit.Request{PolicyID: "api", SubjectDigest: digest, Cost: 6}, []string{"cost 6 is outside 1 to 5"}},
		{"a cost of 0", ratelimit.Request{PolicyID: "api", SubjectDigest: digest}, []string{"cost 0 is outside"}},
		{"a negative cost", ratelimit.Request{PolicyID: "api", SubjectDigest: digest, Cost: -1}, []string{"cost -1 is outside"}},
		{"the largest cost", ratelimit.Request{PolicyID: "api", SubjectDigest: digest, Cost: 1<<63 - 1}, []string{"is outside"}},
		{"another policy", ratelimit.Request{PolicyID: "other", SubjectDigest: digest, Cost: 1}, []string{`policy id "other" is not "api"`}},
		{"an evaluation id", ratelimit.Request{PolicyID: "api", SubjectDigest: digest, Cost: 1, EvaluationID: "e"}, []string{"evaluation id cannot be honoured"}},
		{"no digest", ratelimit.Request{PolicyID: "api", Cost: 1}, []string{"subject digest must be"}},
		{"the zero request, for every reason", ratelimit.Request{}, []string{"policy id", "subject digest", "cost 0"}},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			err := row.req.Check(p)
			if (err == nil) != (row.refusals == nil) {
				t.Fatalf("got %v, want %q", err, row.refusals)
			}
			for _, refusal := range row.refusals {
				if !strings.Contains(err.Error(), refusal) {
					t.Errorf("got %v, want an error that says %q", err, refusal)
				}
			}
		})
	}
}

func TestRequest_aRefusalRepeatsNoSubject(t *testing.T) {
	req := ratelimit.Request{PolicyID: strings.Repeat("x", 1<<20), SubjectDigest: "alice@example.com", Cost: 1, EvaluationID: "secret-id"}
	err := req.Check(must(t, valid()))
	if err == nil || strings.Contains(err.Error(), "alice") || strings.Contains(err.Error(), "secret-id") || len(err.Error()) > 500 {
		t.Errorf("got %v", err)
	}
}

func TestValidSubjectDigest(t *testing.T) {
	for _, row := range []struct {
		sentence string
		digest   string
		want     bool
	}{
		{"empty", "", false},
		{"15 characters", strings.Repeat("a", 15), false},
		{"16 characters", strings.Repeat("a", 16), true},
		{"128 characters", strings.Repeat("a", 128), true},
		{"129 characters", strings.Repeat("a", 129), false},
		{"all kinds of characters", "azAZ09_-azAZ09_-", true},
		{"padding of base64", "0123456789abcde=", false},
		{"base64 that is not of URLs", "0123456789abcd+/", false},
		{"a dot", "0123456789abcde.", false},
		{"a colon", "2001:db8::1:2:3:4:5", false},
		{"a brace", "{0123456789abcde}", false},
		{"a newline at its end", "0123456789abcdef\n", false},
		{"a NUL", "0123456789abcde\x00", false},
		{"an umlaut", "0123456789abcd\u00fc", false},
	} {
		if got := ratelimit.ValidSubjectDigest(row.digest); got != row.want {
			t.Errorf("%s: got %t, want %t", row.sentence, got, row.want)
		}
	}
}
