package promises_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/duallog"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program/programtest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

// limiter opens a limiter of the logs and waits until it is ready. Its keys are whole: the caller keeps to the scene's.
func (s *scene) limiter(window time.Duration) *duallog.RedisLimiter {
	s.Helper()
	return s.limiterAt(s.server.Addr, window)
}

func (s *scene) limiterAt(addr string, window time.Duration) *duallog.RedisLimiter {
	s.Helper()
	limiter, err := duallog.Open(duallog.Config{Window: window, Redis: coordination.Config{
		Addr: addr, Password: s.server.Password, Protocol: rig.Protocol(s.T), DialTimeout: generous, CommandTimeout: generous,
		MaxInFlight: 8, BreakerFailures: 5, BreakerProbeEvery: time.Second,
	}})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = limiter.Close() })
	ctx, cancel := context.WithTimeout(s.Context(), generous)
	defer cancel()
	if err := limiter.Connection().AwaitFirstAttempt(ctx); err != nil {
		s.Fatal(err)
	}
	return limiter
}

// counted is how many calls a log holds, by the server's word.
func (s *scene) counted(key string) int {
	s.Helper()
	n, _ := s.do("ZCARD", key).(int64)
	return int(n)
}

func (s *scene) demandCounted(tenant string, ofTenant int, user string, ofUser int) {
	s.Helper()
	if gotTenant, gotUser := s.counted(tenant), s.counted(user); gotTenant != ofTenant || gotUser != ofUser {
		s.Errorf("the server counts %d of the tenant and %d of the user, want %d and %d", gotTenant, gotUser, ofTenant, ofUser)
	}
}

// told is a verdict in one line.
func told(v slidinglog.Verdict, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%t %d %d", v.Allowed, v.Outer.Remaining, v.Inner.Remaining)
}

// bothLayersOrNeither is one story of a tenant of 4 calls and a user of 2 within the hour.
func bothLayersOrNeither(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	limiter := s.limiter(time.Hour)
	tenant, ann, bob := s.key("rl:{acme}"), s.key("rl:{acme}:user:ann"), s.key("rl:{acme}:user:bob")
	dual := func(user string) string {
		return told(limiter.Dual().AllowDualContext(t.Context(), tenant, 4, user, 2))
	}
	single := func() string { return told(limiter.AllowContext(t.Context(), tenant, 4)) }
	for i, row := range []struct {
		sentence                 string
		call                     func() string
		want                     string
		ofTenant, ofAnn, ofUnder int
	}{
		{"ann's first is charged to both, and once to the tenant", func() string { return dual(ann) }, "true 3 1", 1, 1, 0},
		{"ann's second", func() string { return dual(ann) }, "true 2 0", 2, 2, 0},
		{"ann is denied and the tenant is not charged", func() string { return dual(ann) }, "false 2 0", 2, 2, 0},
		{"ann is denied again", func() string { return dual(ann) }, "false 2 0", 2, 2, 0},
		{"a call of one layer counts with those of two", single, "true 1 0", 3, 2, 0},
		{"bob takes the tenant's last", func() string { return dual(bob) }, "true 0 1", 4, 2, 1},
		{"the tenant is denied and bob is not charged", func() string { return dual(bob) }, "false 0 1", 4, 2, 1},
		{"the tenant alone is denied", single, "false 0 0", 4, 2, 1},
	} {
		before := programtest.Content(t, s.client, tenant) + programtest.Content(t, s.client, ann) + programtest.Content(t, s.client, bob)
		if got := row.call(); got != row.want {
			t.Errorf("call %d, %s: got %s, want %s", i+1, row.sentence, got, row.want)
		}
		s.demandCounted(tenant, row.ofTenant, ann, row.ofAnn)
		s.demandCounted(tenant, row.ofTenant, bob, row.ofUnder)
		after := programtest.Content(t, s.client, tenant) + programtest.Content(t, s.client, ann) + programtest.Content(t, s.client, bob)
		if row.want[:5] == "false" && after != before {
			t.Errorf("call %d, %s: the keys became %s, were %s", i+1, row.sentence, after, before)
		}
	}
}

// Single and dual calls of one tenant at once: exactly its limit passes, and every log holds what was told.
func crowdOnATenant(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	const callers, each, tenantLimit, userLimit = 16, 40, 200, 30
	limiter := s.limiter(time.Hour)
	tenant := s.key("rl:{crowd}")
	user := func(i int) string { return s.key(fmt.Sprintf("rl:{crowd}:user:%d", i/2)) }
	var passed atomic.Int64
	var perUser [callers / 2]atomic.Int64
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for n := range each {
				if n%4 == 0 {
					allowed, _, err := limiter.Allow(tenant, tenantLimit)
					if err != nil {
						t.Error(err)
					} else if allowed {
						passed.Add(1)
					}
					continue
				}
				allowed, _, _, err := limiter.Dual().AllowDual(tenant, tenantLimit, user(i), userLimit)
				if err != nil {
					t.Error(err)
				} else if allowed {
					passed.Add(1)
					perUser[i/2].Add(1)
				}
			}
		})
	}
	all.Wait()
	if passed.Load() != tenantLimit {
		t.Errorf("%d calls passed, want %d", passed.Load(), tenantLimit)
	}
	for i := range perUser {
		got := int(perUser[i].Load())
		s.demandCounted(tenant, tenantLimit, user(2*i), got)
		if got > userLimit {
			t.Errorf("user %d: %d calls passed, want %d at most", i, got, userLimit)
		}
	}
	evidence.Record(t, "calls of 16 callers at once on one tenant of 200", "%d asked, %d passed and counted", callers*each, passed.Load())
}
