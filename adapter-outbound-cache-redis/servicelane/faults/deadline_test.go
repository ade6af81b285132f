package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// A caller who has less time than a command may take is refused before anything is sent.
func TestDeadline_whoHasTooLittleTimeIsSentNowhere(t *testing.T) {
	t.Parallel()
	s := stage(t, nil)
	sent := s.Link.Forwarded("EVALSHA")
	for _, left := range []time.Duration{0, rig.CommandTimeout / 2, rig.CommandTimeout - time.Millisecond} {
		for _, p := range s.Config.Policies {
			q := questionOf(p.ID())
			ctx, cancel := context.Background(), func() {}
			if left > 0 {
				ctx, cancel = context.WithTimeout(ctx, left)
			}
			said := rig.Say(s.Provider.Evaluate(ctx, ratelimit.Request{PolicyID: q.policy, SubjectDigest: q.subject, Cost: q.cost}))
			cancel()
			s.enter(said)
			s.expectCharged(q, 0)
		}
	}
	s.expectHeard("unavailable DEADLINE")
	if now := s.Link.Forwarded("EVALSHA"); now != sent {
		t.Errorf("%d programs were sent, want none", now-sent)
	}
	s.record("the caller has no deadline, or less time than a command may take", "nothing was sent")
}
