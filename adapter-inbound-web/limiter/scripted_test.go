package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/limiter"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

func TestScripted_givesItsAnswersInOrder(t *testing.T) {
	s := limiter.NewScripted(limiter.Allowing(4), limiter.Denying(3*time.Second, 0, 2))
	s.Then(limiter.Failing(slidinglog.ErrUnknown))
	if allowed, remaining, err := s.Allow("k", 5); !allowed || remaining != 4 || err != nil {
		t.Errorf("first: got %v, %d, %v", allowed, remaining, err)
	}
	v, err := s.AllowDualContext(t.Context(), "{t}", 1, "{t}u", 2)
	want := slidinglog.Verdict{RetryAfter: 3 * time.Second, Outer: slidinglog.Layer{ResetAfter: time.Minute},
		Inner: slidinglog.Layer{Remaining: 2, ResetAfter: time.Minute}}
	if v != want || err != nil {
		t.Errorf("second: got %+v, %v; want %+v", v, err, want)
	}
	if _, _, err := s.Allow("", 5); !errors.Is(err, slidinglog.ErrInvalid) || s.Left() != 1 {
		t.Errorf("a bad call: got %v, %d answers left; want ErrInvalid, 1", err, s.Left())
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.AllowContext(gone, "k", 5); !errors.Is(err, slidinglog.ErrUnavailable) || s.Left() != 1 {
		t.Errorf("a call whose time is over: got %v, %d answers left; want ErrUnavailable, 1", err, s.Left())
	}
	if allowed, _, _, err := s.AllowDual("{t}", 1, "{t}u", 2); allowed || !errors.Is(err, slidinglog.ErrUnknown) {
		t.Errorf("third: got %v, %v; want ErrUnknown", allowed, err)
	}
	if allowed, _, err := s.Allow("k", 5); allowed || !errors.Is(err, slidinglog.ErrUnavailable) {
		t.Errorf("with none left: got %v, %v; want ErrUnavailable", allowed, err)
	}
	asked := []limiter.Call{{"k", 5, "", 0}, {"{t}", 1, "{t}u", 2}, {"", 5, "", 0}, {"k", 5, "", 0}, {"{t}", 1, "{t}u", 2}, {"k", 5, "", 0}}
	if got := s.Calls(); !slices.Equal(got, asked) {
		t.Errorf("asked %+v, want %+v", got, asked)
	}
}

// TestRefusals_areOneErrorOfEveryLimiter: a caller cannot tell by a bad call which
// implementation it has.
func TestRefusals_areOneErrorOfEveryLimiter(t *testing.T) {
	l, _ := local(t, limiter.LocalConfig{})
	long := strings.Repeat("k", slidinglog.MaxKeyLen+1)
	scripted := limiter.NewScripted(limiter.Allowing(1, 1))
	for _, call := range []limiter.Call{
		{TenantKey: ""},
		{TenantKey: long},
		{TenantKey: "rl:{a}", TenantLimit: -1},
		called("", 1, "rl:{a}:user:u", 1),
		called("rl:{a}", 1, "{a}"+long, 1),
		called("rl:{a}", -1, "rl:{a}:user:u", 1),
		called("rl:{a}", 1, "rl:{a}:user:u", -1),
		called("rl:{a}", 1, "rl:{a}", 1),
		called("rl:{a}", 1, "rl:{b}:user:u", 1),
		called("rl:{a}", 1, "rl:a:user:u", 1),
		called("rl:anon:a", 1, "rl:anon:b", 1),
		called("rl:{}", 1, "rl:{}:user:u", 1),
	} {
		want, got := make([]error, 2), make([]error, 2)
		if call.UserKey == "" {
			_, _, want[0] = l.Allow(call.TenantKey, call.TenantLimit)
			_, want[1] = l.AllowContext(t.Context(), call.TenantKey, call.TenantLimit)
			_, _, got[0] = scripted.Allow(call.TenantKey, call.TenantLimit)
			_, got[1] = scripted.AllowContext(t.Context(), call.TenantKey, call.TenantLimit)
		} else {
			_, _, _, want[0] = l.Dual().AllowDual(call.TenantKey, call.TenantLimit, call.UserKey, call.UserLimit)
			_, want[1] = l.Dual().AllowDualContext(t.Context(), call.TenantKey, call.TenantLimit, call.UserKey, call.UserLimit)
			_, _, _, got[0] = scripted.AllowDual(call.TenantKey, call.TenantLimit, call.UserKey, call.UserLimit)
			_, got[1] = scripted.AllowDualContext(t.Context(), call.TenantKey, call.TenantLimit, call.UserKey, call.UserLimit)
		}
		for i := range want {
			if !errors.Is(want[i], slidinglog.ErrInvalid) || fmt.Sprint(got[i]) != fmt.Sprint(want[i]) {
				t.Errorf("%.40v: got %v of the scripted, %v of the local limiter", call, got[i], want[i])
			}
		}
	}
	if l.Keys() != 0 || scripted.Left() != 1 {
		t.Errorf("%d keys, %d answers left; want that nothing was done", l.Keys(), scripted.Left())
	}
}

func called(tenantKey string, tenantLimit int, userKey string, userLimit int) limiter.Call {
	return limiter.Call{TenantKey: tenantKey, TenantLimit: tenantLimit, UserKey: userKey, UserLimit: userLimit}
}
