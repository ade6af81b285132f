package e2e_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// TestInbound_withoutRedisEachReplicaDecides has two replicas, so that one alone
// lets through 2 requests of a tenant's 5 and 1 of a user's 3.
func TestInbound_withoutRedisEachReplicaDecides(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Absent(t), newUpstream(t)
	p := serve(t, inboundWeb(t, server.Addr(), behind.URL).inbound("replicas", 2))
	ready := get(t, "http://"+p.admin+"/readyz").must(t, http.StatusOK)
	detail, _ := ready.object(t)["inboundWeb"].(map[string]any)
	if detail["ready"] != false || detail["endpoint"] != "redis://"+server.Addr()+"/0" {
		t.Errorf("readiness says %s, want the Redis that is away", ready.body)
	}
	eventually(t, "reason", func() bool {
		return strings.Contains(get(t, "http://"+p.admin+"/readyz").must(t, http.StatusOK).body, "connection refused")
	})
	if said := strings.Count(p.stderr.String(), "accepted risk"); said != 1 || p.metric(t, "edgelimit_inbound_replica_limits_accepted") != "1" {
		t.Errorf("the accepted risk is logged %d times, and the metric says %q", said, p.metric(t, "edgelimit_inbound_replica_limits_accepted"))
	}
	asked := p.withoutRedis(t)

	server.Restart(t)
	ann := func() reply { return get(t, "http://"+p.listen+"/", user("acme", "ann")...).must(t, http.StatusOK) }
	eventually(t, "inbound-web Redis", func() bool { return p.inboundReady(t) })
	// Nobody spends by asking whether Redis decides again: each who asks is new.
	others := 0
	shared := func() bool {
		others++
		got := get(t, "http://"+p.listen+"/", tenant("other "+numeral(others))...).must(t, http.StatusOK)
		if got.header.Get("X-RateLimit-Source") == "local" {
			asked++
			return false
		}
		got.counts(t, 5, 4)
		return true
	}
	eventually(t, "answer from Redis", shared)
	ann().counts(t, 3, 2).says(t, "X-RateLimit-Source", "X-RateLimit-Reset: "+numeral(windowSeconds))
	if n := p.total(t, fallbacks); n != asked {
		t.Errorf("the fallback was asked %d times, want %d", n, asked)
	}

	// The local log remembers what it let through before.
	server.Kill(t)
	asked += p.full(t)
	if n := p.total(t, fallbacks); n != asked {
		t.Errorf("the fallback was asked %d times, want %d", n, asked)
	}
	if p.readiness(t) != http.StatusOK {
		t.Error("the process is not ready, want an outage of this Redis to be a detail")
	}
	server.Restart(t)
	eventually(t, "answer from Redis", shared)
	ann().counts(t, 3, 2).says(t, "X-RateLimit-Source")
	if n := p.total(t, fallbacks); n != asked || p.total(t, failures) != 0 {
		t.Errorf("the fallback was asked %d times, want %d, and %d requests failed", n, asked, p.total(t, failures))
	}
	for reason := range p.samples(t, fallbacks) {
		if reason != `{reason="unavailable"}` && reason != `{reason="unknown"}` {
			t.Errorf("a fallback has the reason %s", reason)
		}
	}
}

// withoutRedis spends what the fallback has, and returns how often it was asked.
func (p *process) withoutRedis(t *testing.T) int64 {
	t.Helper()
	for _, who := range []string{"ann", "bob"} {
		get(t, "http://"+p.listen+"/", user("acme", who)...).must(t, http.StatusOK).counts(t, 1, 0).
			says(t, "X-RateLimit-Source: local", "X-RateLimit-Reset: "+numeral(windowSeconds))
	}
	return 2 + p.full(t)
}

// full asks the fallback, which has nothing left, and returns how often.
func (p *process) full(t *testing.T) int64 {
	t.Helper()
	before := p.metric(t, rejections+`{layer="both",tenant_id="acme"}`)
	const times = 10 // the breaker's answers too
	for range times {
		got := get(t, "http://"+p.listen+"/", user("acme", "ann")...).must(t, http.StatusTooManyRequests).counts(t, 2, 0).
			says(t, "X-RateLimit-Source: local").problem(t, "evaluated")
		got.number(t, "Retry-After")
	}
	after := p.metric(t, rejections+`{layer="both",tenant_id="acme"}`)
	if n := integer(t, after) - integer(t, "0"+before); n != times {
		t.Errorf("%d rejections were counted, want %d", n, times)
	}
	return times
}

func TestInbound_failClosedAnswersNobodyWithoutRedis(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Absent(t), newUpstream(t)
	p := serve(t, inboundWeb(t, server.Addr(), behind.URL).inbound("outage-policy", "fail-closed"))
	get(t, "http://"+p.admin+"/healthz").must(t, http.StatusOK)
	if accepted := p.metric(t, "edgelimit_inbound_replica_limits_accepted"); accepted != "0" {
		t.Errorf("got %q, want that no limit per replica is accepted", accepted)
	}
	for round := range 2 {
		eventually(t, "end of readiness", func() bool { return p.readiness(t) == http.StatusServiceUnavailable })
		if got := get(t, "http://"+p.admin+"/readyz"); !strings.Contains(got.body, server.Addr()) {
			t.Errorf("readiness does not say what is away: %s", got.body)
		}
		seen, failed := len(behind.requests()), p.total(t, failures)
		const times = 10
		for range times {
			got := get(t, "http://"+p.listen+"/", user("acme", "ann")...).must(t, http.StatusServiceUnavailable).uncounted(t).
				says(t, "Retry-After: 1", "Cache-Control: no-store")
			if outcome := text(got.object(t)["outcome"]); outcome != "unavailable" && outcome != "indeterminate" {
				t.Errorf("got the outcome %s, want one that is no decision", outcome)
			}
			if strings.Contains(got.body, "refused") || strings.Contains(got.body, "127.0.0.1") {
				t.Errorf("the body tells of the inside: %s", got.body)
			}
		}
		if n := p.total(t, failures) - failed; n != times || p.total(t, fallbacks) != 0 || len(behind.requests()) != seen {
			t.Errorf("%d failures were counted, want %d; the upstream saw %d requests", n, times, len(behind.requests())-seen)
		}
		server.Restart(t)
		eventually(t, "readiness", func() bool { return p.readiness(t) == http.StatusOK })
		eventually(t, "answer from Redis", func() bool {
			return get(t, "http://"+p.listen+"/", tenant("other")...).status == http.StatusOK
		})
		get(t, "http://"+p.listen+"/", user("acme", "ann")...).must(t, http.StatusOK).counts(t, 3, 2)
		if round == 0 {
			server.Kill(t)
		}
	}
}

func TestInbound_aLostReplyIsDecidedHereAndChargedThereOnce(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	link := redistest.NewLink(t, server.Addr())
	p := serve(t, inboundWeb(t, link.Addr(), behind.URL))
	eventually(t, "inbound-web Redis", func() bool { return p.inboundReady(t) })
	get(t, "http://"+p.listen+"/", tenant("acme")...).must(t, http.StatusOK).counts(t, 5, 4)
	link.Fault("EVALSHA", 1, redistest.LoseReply())
	get(t, "http://"+p.listen+"/", tenant("acme")...).must(t, http.StatusOK).counts(t, 5, 4).says(t, "X-RateLimit-Source: local")
	get(t, "http://"+p.listen+"/", tenant("acme")...).must(t, http.StatusOK).counts(t, 5, 2).says(t, "X-RateLimit-Source")
	if n := counted(t, server, "rl:{acme}"); n != 3 || p.metric(t, fallbacks+`{reason="unknown"}`) != "1" || p.total(t, fallbacks) != 1 {
		t.Errorf("%d requests are counted, and the fallbacks are %v; want 3, 1 unknown", n, p.samples(t, fallbacks))
	}

	server.Do(t, "SET", "rl:{strange}", "no log")
	get(t, "http://"+p.listen+"/", tenant("strange")...).must(t, http.StatusServiceUnavailable).problem(t, "incompatible").
		uncounted(t).says(t, "Retry-After")
	if n := p.total(t, fallbacks); n != 1 || p.metric(t, failures+`{reason="incompatible"}`) != "1" {
		t.Errorf("the fallback was asked about a key of another kind, or the failures are %v", p.samples(t, failures))
	}
}

// TestInbound_aMuteRedisCostsItsTimeoutToFew meets a Redis that runs everything and
// answers nothing.
func TestInbound_aMuteRedisCostsItsTimeoutToFew(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	link := redistest.NewLink(t, server.Addr())
	p := serve(t, inboundWeb(t, link.Addr(), behind.URL).inbound("command-timeout", "250ms").
		inbound("limits", map[string]int{"tenant": 100, "user": 1, "key": 1, "anonymous": 1}))
	eventually(t, "inbound-web Redis", func() bool { return p.inboundReady(t) })
	link.Fault("EVALSHA", -1, redistest.Silence())
	begun := time.Now()
	const requests = 40
	for range requests {
		get(t, "http://"+p.listen+"/", tenant("acme")...).must(t, http.StatusOK).says(t, "X-RateLimit-Limit: 100", "X-RateLimit-Source: local")
	}
	// The breaker opens after five, and lets one try pass every second.
	most := 5 + 1 + int64(time.Since(begun)/time.Second)
	waited := integer(t, p.metric(t, fallbacks+`{reason="unknown"}`))
	if waited < 1 || waited > most || p.total(t, fallbacks) != requests {
		t.Errorf("%d of %v requests waited for Redis, want 1 to %d of %d", waited, p.samples(t, fallbacks), most, requests)
	}
	link.Heal()
	eventually(t, "answer from Redis", func() bool {
		got := get(t, "http://"+p.listen+"/", tenant("other")...)
		return got.status == http.StatusOK && got.header.Get("X-RateLimit-Source") == ""
	})
}
