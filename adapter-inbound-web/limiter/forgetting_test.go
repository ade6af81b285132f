package limiter_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/limiter"
)

// history is when calls of each key were allowed, for ever.
type history map[string][]int64

// full tells whether limit calls of key count at now.
func (h history) full(key string, now, window int64, limit int) bool {
	live := 0
	for _, at := range h[key] {
		if at > now-window {
			live++
		}
	}
	return live >= limit
}

// TestLocal_whatItForgetsItOnlyEverAllows makes random calls of more keys than there
// is room for, beside all that was ever allowed. Nobody is denied who has not used
// up a limit, and no bound is passed.
func TestLocal_whatItForgetsItOnlyEverAllows(t *testing.T) {
	const window, maxKeys, maxAddresses, maxCalls = time.Second, 12, 6, 96
	random := rand.New(rand.NewPCG(11, 5))
	l, hand := local(t, limiter.LocalConfig{Window: window, Shards: 3, MaxKeys: maxKeys, MaxAddressKeys: maxAddresses, MaxCalls: maxCalls})
	past, denied, forgiven := history{}, 0, 0
	for i := range 50_000 {
		hand.advance(time.Duration(random.IntN(20)) * time.Millisecond)
		now, limit := hand.now(), 1+random.IntN(3)
		keys := []string{fmt.Sprintf("rl:{%d}", random.IntN(20))}
		var allowed bool
		var err error
		switch random.IntN(4) {
		case 0:
			keys[0] = fmt.Sprintf("rl:anon:%d", random.IntN(20))
			allowed, _, err = l.Allow(keys[0], limit)
		case 1:
			allowed, _, err = l.Allow(keys[0], limit)
		default:
			keys = append(keys, fmt.Sprintf("%s:user:%d", keys[0], random.IntN(3)))
			allowed, _, _, err = l.Dual().AllowDual(keys[0], limit, keys[1], limit)
		}
		if err != nil {
			t.Fatal(err)
		}
		full := past.full(keys[0], now, window.Microseconds(), limit) || past.full(keys[len(keys)-1], now, window.Microseconds(), limit)
		switch {
		case !allowed && !full:
			t.Fatalf("call %d of %v under %d was denied, and neither was full", i, keys, limit)
		case !allowed:
			denied++
			continue
		case full:
			forgiven++
		}
		for _, key := range keys {
			past[key] = append(past[key], now)
		}
		if l.Keys() > 2*maxKeys+maxAddresses || l.Calls() > 3*maxCalls {
			t.Fatalf("after call %d: %d keys with memory for %d calls", i, l.Keys(), l.Calls())
		}
	}
	if denied < 500 || forgiven < 500 {
		t.Errorf("%d calls denied, %d forgiven; want many of both", denied, forgiven)
	}
}
