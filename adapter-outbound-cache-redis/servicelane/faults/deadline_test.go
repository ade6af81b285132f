package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
)

// A caller who has less time than a command may take is refused before anything is sent.
func TestDeadline_whoHasTooLittleTimeIsSentNowhere(t *testing.T) {
	t.Parallel()
	s := edgePort.stage(t, nil)
	sent := s.Link.Forwarded("EVALSHA")
	for _, left := range []time.Duration{0, rig.CommandTimeout / 2, rig.CommandTimeout - time.Millisecond} {
		for _, policy := range s.ways() {
			q := questionOf(policy)
			ctx, cancel := context.Background(), func() {}
			if left > 0 {
				ctx, cancel = context.WithTimeout(ctx, left)
			}
			s.enter(s.evaluate(ctx, q))
			cancel()
			s.expectCharged(q, 0)
		}
	}
	s.expectHeard("unavailable DEADLINE")
	if now := s.Link.Forwarded("EVALSHA"); now != sent {
		t.Errorf("%d programs were sent, want none", now-sent)
	}
	s.record("the caller has no deadline, or less time than a command may take", "nothing was sent")
}

// A caller of the log is sent nowhere once he has gone. He needs no deadline.
func TestDeadline_whoHasGoneIsSentNowhere(t *testing.T) {
	t.Parallel()
	s := slidingLog.stage(t, nil)
	sent := s.Link.Forwarded("EVALSHA")
	gone, leave := context.WithCancel(context.Background())
	leave()
	late, cancel := context.WithDeadline(context.Background(), time.Now())
	defer cancel()
	for _, ctx := range []context.Context{gone, late} {
		for _, way := range s.ways() {
			q := questionOf(way)
			s.enter(s.evaluate(ctx, q))
			s.expectCharged(q, 0)
		}
	}
	s.expectHeard("unavailable DEADLINE")
	if now := s.Link.Forwarded("EVALSHA"); now != sent {
		t.Errorf("%d programs were sent, want none", now-sent)
	}
	if got := s.evaluate(context.Background(), questionOf(oneLayer)); got != admitted {
		t.Errorf("without a deadline: got %s, want %s", got, admitted)
	}
	s.record("the caller has gone, or his deadline is over", "nothing was sent")
}
