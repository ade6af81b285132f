package slidinglog_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

func TestTag_isRedisClustersRule(t *testing.T) {
	for _, row := range []struct {
		key, tag string
		tagged   bool
	}{
		{"rl:{acme}", "acme", true},
		{"rl:{acme}:user:{x}", "acme", true},
		{"rl:{{acme}}", "{acme", true},
		{"}rl:{acme}", "acme", true},
		{"rl:{}:{acme}", "", false},
		{"rl:{acme", "acme", false},
		{"rl:acme}", "", false},
		{"rl:acme", "", false},
		{"", "", false},
	} {
		tag, tagged := slidinglog.Tag(row.key)
		if tagged != row.tagged || tagged && tag != row.tag {
			t.Errorf("%q: got %q, %v; want %q, %v", row.key, tag, tagged, row.tag, row.tagged)
		}
	}
}

func TestCheck_bounds(t *testing.T) {
	longest := strings.Repeat("k", slidinglog.MaxKeyLen)
	for _, row := range []struct {
		sentence string
		err      error
		ok       bool
	}{
		{"the longest key and limit 0", slidinglog.Check(longest, 0), true},
		{"a key that is one byte longer", slidinglog.Check(longest+"k", 0), false},
		{"an empty key", slidinglog.Check("", 1), false},
		{"a negative limit", slidinglog.Check("k", -1), false},
		{"two keys of one tag", slidinglog.CheckDual("a{t}", 0, "{t}b", 0), true},
		{"equal keys", slidinglog.CheckDual("{t}", 1, "{t}", 1), false},
		{"two tags", slidinglog.CheckDual("{t}", 1, "{u}a", 1), false},
		{"one tag of two keys", slidinglog.CheckDual("{t}", 1, "t", 1), false},
		{"no tags", slidinglog.CheckDual("a", 1, "b", 1), false},
		{"a bad outer layer", slidinglog.CheckDual("", 1, "{t}", 1), false},
		{"a bad inner layer", slidinglog.CheckDual("{t}", 1, "{t}a", -1), false},
	} {
		if row.ok != (row.err == nil) || !row.ok && !errors.Is(row.err, slidinglog.ErrInvalid) {
			t.Errorf("%s: got %v, want accepted %v", row.sentence, row.err, row.ok)
		}
	}
}

// resharding is an error with a reason of its own.
type resharding struct{}

func (resharding) Error() string  { return "resharding" }
func (resharding) Unwrap() error  { return slidinglog.ErrUnavailable }
func (resharding) Reason() string { return "resharding" }

func TestReason_andWhatAnOutageIs(t *testing.T) {
	for _, row := range []struct {
		err    error
		reason string
		outage bool
	}{
		{nil, "", false},
		{slidinglog.ErrInvalid, "invalid", false},
		{slidinglog.ErrIncompatible, "incompatible", false},
		{slidinglog.ErrUnavailable, "unavailable", true},
		{slidinglog.ErrUnknown, "unknown", true},
		{slidinglog.ErrClockUnsafe, "clock_unsafe", true},
		{fmt.Errorf("dial: %w", slidinglog.ErrUnavailable), "unavailable", true},
		{fmt.Errorf("ask: %w", resharding{}), "resharding", true},
		{errors.Join(slidinglog.ErrUnavailable, slidinglog.ErrInvalid), "invalid", false},
		{errors.Join(slidinglog.ErrUnknown, slidinglog.ErrIncompatible), "incompatible", false},
		{errors.New("something else"), "other", false},
	} {
		if reason, outage := slidinglog.Reason(row.err), slidinglog.IsOutage(row.err); reason != row.reason || outage != row.outage {
			t.Errorf("%v: got %q, %v; want %q, %v", row.err, reason, outage, row.reason, row.outage)
		}
	}
}
