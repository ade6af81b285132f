package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

func ExampleLocalLimiter() {
	single, err := limiter.NewLocalLimiter(limiter.LocalConfig{})
	if err != nil {
		panic(err)
	}
	dual := single.Dual()
	for range 2 {
		fmt.Println(dual.AllowDual("rl:{acme}", 3, "rl:{acme}:user:ann", 1))
	}
	fmt.Println(single.Allow("rl:{acme}", 3))
	// Output:
	// true 2 0 <nil>
	// false 2 0 <nil>
	// true 1 <nil>
}
