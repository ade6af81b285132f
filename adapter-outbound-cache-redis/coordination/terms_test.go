package coordination_test

import (
	"context"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
)

func TestTerms_whatACallMayWaitAndTake(t *testing.T) {
	const admission, command = time.Minute, time.Hour
	fixed := coordination.Config{AdmissionWait: admission, CommandTimeout: command}
	shared := coordination.Config{AdmissionWait: admission, CommandTimeout: command, OneBudget: true}
	for _, row := range []struct {
		sentence string
		config   coordination.Config
		left     time.Duration // until the ctx's deadline; 0 is none
		deadline time.Duration
		admit    time.Duration
		timeout  time.Duration
	}{
		{"a fixed command timeout and time enough", fixed, 3 * time.Hour, 3 * time.Hour, admission, command},
		{"a fixed command timeout leaves less to wait", fixed, command + time.Second, command + time.Second, time.Second, command},
		{"a fixed command timeout leaves nothing to wait", fixed, command / 2, command / 2, -command / 2, command},
		{"one budget needs no deadline", shared, 0, command, command, command},
		{"one budget that a longer deadline does not lengthen", shared, 3 * time.Hour, command, command, command},
		{"one budget whose caller leaves before its end, and his command goes on", shared, time.Minute, time.Minute, command, command},
	} {
		ctx, cancel := t.Context(), context.CancelFunc(func() {})
		began := time.Now()
		if row.left != 0 {
			ctx, cancel = context.WithDeadline(ctx, began.Add(row.left))
		}
		got := coordination.TermsOf(ctx, row.config)
		took := time.Since(began)
		cancel()
		near := func(what string, got, want time.Duration) {
			t.Helper()
			if got < want-took || got > want+took {
				t.Errorf("%s: %s: got %v, want %v within %v", row.sentence, what, got, want, took)
			}
		}
		near("deadline", got.Deadline.Sub(began), row.deadline)
		near("wait", got.AdmitUntil.Sub(began), row.admit)
		near("timeout", got.Timeout, row.timeout)
	}
}

func TestTerms_withoutADeadlineAFixedCommandTimeoutLeavesNoTime(t *testing.T) {
	c := coordination.Config{AdmissionWait: time.Second, CommandTimeout: time.Second}
	if got := coordination.TermsOf(t.Context(), c); !got.Deadline.IsZero() || got.AdmitUntil.After(time.Now()) {
		t.Errorf("got %+v", got)
	}
}
