package redislimit_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/shared-contract/contracttest"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// openAt opens a ready provider for the contract's suites.
func openAt(t *testing.T, addr string, protocol int, policies []ratelimit.Policy) ratelimit.EdgeRateLimitPort {
	t.Helper()
	c := configFor(addr, policies)
	c.Redis.MaxInFlight, c.Redis.Protocol = 64, protocol
	c.Redis.AdmissionWait, c.Redis.CommandTimeout = 2*time.Second, 2*time.Second
	provider, err := redislimit.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = provider.Close() })
	r := &rig{t: t, config: c, provider: provider}
	r.eventually("be ready", func() bool { return r.health().Ready })
	return provider
}

func TestContract_onARealServer(t *testing.T) {
	server := redistest.Start(t)
	for name, protocol := range map[string]int{"RESP2": 2, "RESP3": 3} {
		t.Run(name, func(t *testing.T) {
			contracttest.Run(t, contracttest.Harness{
				New: func(t *testing.T, policies ...ratelimit.Policy) ratelimit.EdgeRateLimitPort {
					return openAt(t, server.Addr(), protocol, policies)
				},
			})
		})
	}
}

// On miniredis the clock stands still until the suite moves it.
func TestContract_onMiniredisByAClockThatIsMoved(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	now := time.UnixMilli(1_700_000_000_123)
	server.SetTime(now)
	contracttest.Run(t, contracttest.Harness{
		New: func(t *testing.T, policies ...ratelimit.Policy) ratelimit.EdgeRateLimitPort {
			return openAt(t, server.Addr(), 2, policies)
		},
		Advance: func(_ *testing.T, d time.Duration) {
			now = now.Add(d)
			server.SetTime(now)
			server.FastForward(d)
		},
	})
}

// faultRig is the rig as the contract's fault suite sees it.
type faultRig struct{ *rig }

func (f faultRig) Port() ratelimit.EdgeRateLimitPort { return f.provider }
func (f faultRig) LoseNextReply()                    { f.link.Fault("EVALSHA", 1, redistest.LoseReply()) }
func (f faultRig) HalveNextReply()                   { f.link.Fault("EVALSHA", 1, redistest.HalfReply()) }
func (f faultRig) ResetNextBeforeExecution()         { f.link.Fault("EVALSHA", 1, redistest.ResetBefore()) }
func (f faultRig) Silence()                          { f.link.Blackhole() }
func (f faultRig) Heal()                             { f.link.Heal() }

func (f faultRig) GarbleNextReply() {
	f.link.Fault("EVALSHA", 1, redistest.Replace([]byte("%5~garbled\r\n")))
}

func (f faultRig) Refuse() {
	f.link.Refuse()
	f.link.Cut()
}

func (f faultRig) Charged(policyID, digest string) int64 { return f.charged(policyID, digest) }

func TestContract_faultsOverTheLossyLink(t *testing.T) {
	server := redistest.Start(t)
	contracttest.RunFaults(t, contracttest.FaultHarness{
		New: func(t *testing.T, policies ...ratelimit.Policy) contracttest.FaultRig {
			return faultRig{newRig(t, server, func(c *redislimit.Config) { c.Policies = policies })}
		},
	})
}
