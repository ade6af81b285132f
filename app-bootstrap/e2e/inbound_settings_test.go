package e2e_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// windowSeconds is wideWindow: nothing that was counted leaves during a test.
const windowSeconds = windowMillis / 1000

// inboundWeb is a complete configuration with the inbound-web limiter on, in mode
// redis, and the edge port off. The peers of all tests are its trusted proxies.
func inboundWeb(t testing.TB, redis, upstream string) settings {
	t.Helper()
	return settings{
		"app.server.listen":       "127.0.0.1:0",
		"app.server.admin-listen": "127.0.0.1:0",
		"app.gateway.upstream":    upstream,
	}.inboundWeb(t, redis)
}

// inboundWeb adds that limiter.
func (s settings) inboundWeb(t testing.TB, redis string) settings {
	t.Helper()
	const limiter = "app.inbound-web.rate-limit."
	return s.with("app.server.trusted-proxies", []string{"127.0.0.1"}).
		with("app.inbound-web.identity", map[string]string{"tenant-header": "X-Tenant-Id", "user-header": "X-User-Id", "key-header": "X-Key-Id"}).
		with(limiter+"mode", "redis").
		with(limiter+"redis-url", "redis://"+redis+"/0").
		with(limiter+"hmac-secret-file", secretFile(t, hmacSecret)).
		with(limiter+"window", wideWindow).
		with(limiter+"limits", map[string]int{"tenant": 5, "user": 3, "key": 2, "anonymous": 2}).
		with(limiter+"command-timeout", "5s")
}

// inbound sets a key of the limiter.
func (s settings) inbound(key string, value any) settings {
	return s.with("app.inbound-web.rate-limit."+key, value)
}

// What a trusted proxy says of who sent a request.
func tenant(id string) []string         { return []string{"X-Tenant-Id: " + id} }
func user(tenantID, id string) []string { return append(tenant(tenantID), "X-User-Id: "+id) }
func apiKey(tenantID, id string) []string {
	return append(tenant(tenantID), "X-Key-Id: "+id)
}
func address(a string) []string { return []string{"X-Forwarded-For: " + a} }

// counts checks the limit and what remains of it.
func (r reply) counts(t testing.TB, limit, remaining int) reply {
	t.Helper()
	return r.says(t, "X-RateLimit-Limit: "+numeral(limit), "X-RateLimit-Remaining: "+numeral(remaining))
}

// uncounted checks that nothing tells of a limit.
func (r reply) uncounted(t testing.TB) reply {
	t.Helper()
	return r.says(t, "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Source")
}

// violates checks the policies that a denial names.
func (r reply) violates(t testing.TB, policies ...string) reply {
	t.Helper()
	var named []string
	list, _ := r.object(t)["violated-policies"].([]any)
	for _, policy := range list {
		named = append(named, text(policy))
	}
	if !slices.Equal(named, policies) {
		t.Errorf("got the violated policies %q, want %q", named, policies)
	}
	return r
}

// between checks a header that holds one integer.
func (r reply) between(t testing.TB, name string, least, most int64) reply {
	t.Helper()
	if got := r.number(t, name); got < least || got > most {
		t.Errorf("%s: got %d, want %d to %d", name, got, least, most)
	}
	return r
}

// samples are the values of a family of metrics, by their labels.
func (p *process) samples(t testing.TB, family string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for line := range strings.Lines(get(t, "http://"+p.admin+"/metrics").must(t, http.StatusOK).body) {
		line = strings.TrimSpace(line)
		end := strings.LastIndexByte(line, ' ')
		if rest, ok := strings.CutPrefix(line, family); ok && strings.HasPrefix(rest, "{") {
			found[line[len(family):end]] = line[end+1:]
		}
	}
	return found
}

const (
	rejections    = "hermes_rate_limit_rejected_total"
	fallbacks     = "edgelimit_inbound_fallbacks_total"
	failures      = "edgelimit_inbound_failures_total"
	chargedDenied = "edgelimit_charged_then_denied_total"
)

// total is the sum of a family.
func (p *process) total(t testing.TB, family string) (sum int64) {
	t.Helper()
	for _, value := range p.samples(t, family) {
		sum += integer(t, value)
	}
	return sum
}

// inboundReady tells what readiness says of the inbound-web Redis.
func (p *process) inboundReady(t testing.TB) bool {
	t.Helper()
	detail, _ := get(t, "http://"+p.admin+"/readyz").object(t)["inboundWeb"].(map[string]any)
	return detail["ready"] == true
}

// logsOf are the keys of the inbound-web limiter without those of its probes.
func logsOf(t testing.TB, s *redistest.Server) []string {
	t.Helper()
	keys := slices.DeleteFunc(keysOf(t, s), func(key string) bool {
		return !strings.HasPrefix(key, "rl:") || strings.HasPrefix(key, "rl:{probe:")
	})
	slices.Sort(keys)
	return keys
}

// counted is how many requests a log holds.
func counted(t testing.TB, s *redistest.Server, key string) int64 {
	t.Helper()
	n, ok := s.Do(t, "ZCARD", key).(int64)
	if !ok {
		t.Fatalf("%s is no log", key)
	}
	return n
}
