package slidinglogtest

import (
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

var tooLong = strings.Repeat("k", slidinglog.MaxKeyLen+1)

// refusal is a call that every implementation refuses before any work.
type refusal struct {
	sentence string
	step     step
}

var invalid = answer{err: slidinglog.ErrInvalid}

var refusals = []refusal{
	{"an empty key", single(0, "", 1, invalid)},
	{"a key over 1 KiB", single(0, tooLong, 1, invalid)},
	{"a negative limit", single(0, tenant, -1, invalid)},
	{"an empty tenant key", step{outer: "", outerLimit: 5, inner: ann, innerLimit: 5, want: invalid}},
	{"a user key over 1 KiB", dual(0, 5, "{acme-*}"+tooLong, 5, invalid)},
	{"a negative tenant limit", dual(0, -1, ann, 5, invalid)},
	{"a negative user limit", dual(0, 5, ann, -1, invalid)},
	{"equal keys", dual(0, 5, tenant, 5, invalid)},
	{"two keys of two tags", dual(0, 5, rivals, 5, invalid)},
	{"two keys without a tag", step{outer: address, outerLimit: 5, inner: other, innerLimit: 5, want: invalid}},
	{"two keys with an empty tag", step{outer: "rl:{}*", outerLimit: 5, inner: "rl:{}*:user:ann", innerLimit: 5, want: invalid}},
	{"two keys with a tag that is not closed", step{outer: "rl:{acme*", outerLimit: 5, inner: "rl:{acme*:user:ann", innerLimit: 5, want: invalid}},
}

// hold demands the refusal in both forms, and that it counted nothing.
func (r refusal) hold(t *testing.T, h Harness) {
	l, keys := h.New(t, minute), newKeyring()
	l.SetNow(startMicros)
	for _, by := range []caller{byContext, plainly} {
		if got, want := by(t, l, keys, r.step); !want.is(got) {
			t.Errorf("got %+v, want ErrInvalid alone", got)
		}
	}
	got, want := byContext(t, l, keys, dual(0, 5, ann, 5, yes(left(4, minute), left(4, minute))))
	if !want.is(got) {
		t.Errorf("a good call after it: got %+v, want %+v", got, want)
	}
}
