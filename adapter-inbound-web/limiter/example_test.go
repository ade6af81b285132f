package limiter_test

import (
	"fmt"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/limiter"
	"github.com/edgelimit/edgelimit/shared-contract/slidinglog"
)

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

// send is code under test: it must not send when the limiter does not know.
func send(l limiter.DualLayerLimiter, user string) string {
	allowed, _, _, err := l.AllowDual("rl:{acme}", 600, "rl:{acme}:user:"+user, 60)
	switch {
	case err != nil:
		return "not sent: " + slidinglog.Reason(err)
	case !allowed:
		return "later"
	}
	return "sent"
}

// A test of code that has a limiter writes down the answers, the failures too, and
// looks at what was asked.
func ExampleScripted() {
	script := limiter.NewScripted(
		limiter.Allowing(599, 59),
		limiter.Denying(3*time.Second, 598, 0),
		limiter.Failing(slidinglog.ErrUnknown),
	)
	for range 3 {
		fmt.Println(send(script, "ann"))
	}
	fmt.Println(send(script, "bob")) // the script has ended
	for _, call := range script.Calls()[3:] {
		fmt.Println(call.TenantKey, call.TenantLimit, call.UserKey, call.UserLimit)
	}
	// Output:
	// sent
	// later
	// not sent: unknown
	// not sent: unavailable
	// rl:{acme} 600 rl:{acme}:user:bob 60
}
