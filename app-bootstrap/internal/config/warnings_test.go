package config_test

import (
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/config"
)

// inbound is a whole inbound-web limiter, off unless entries say otherwise.
func inbound(entries ...string) []string {
	out := append([]string{
		"app.gateway.upstream=http://h", "app.inbound-web.rate-limit.redis-url=redis://h", "app.inbound-web.rate-limit.hmac-secret-file=secret",
	}, inboundLimits...)
	for _, entry := range entries {
		out = append(out, "app.inbound-web.rate-limit."+entry)
	}
	return out
}

func TestLoad_warns(t *testing.T) {
	const api = "{id: api, revision: 1, algorithm: fixed-window, limit: 1, window: 1s}"
	const fallback = "app.rate-limit.default-policy=api"
	policies := func(entries string) string { return "app.rate-limit.policies=[" + entries + "]" }
	for name, row := range map[string]struct {
		overrides    []string
		key, message string // "" is no warning
	}{
		"grace below regression": {[]string{fallback, policies(strings.Replace(api, "}", ", cleanup-grace: 1s}", 1))},
			"app.rate-limit.policies[0].cleanup-grace", "1s is below max-clock-regression 2s"},
		"grace equal to regression": {[]string{fallback, policies(strings.Replace(api, "}", ", cleanup-grace: 2s}", 1))}, "", ""},
		"state of months": {[]string{fallback, policies(strings.Replace(api, "1s", "1440h", 1))},
			"app.rate-limit.policies[0]", "keeps state for up to 60.0 days"},
		"state of a month": {[]string{fallback, policies(strings.Replace(api, "1s", "743h", 1))}, "", ""},
		"trusts all of IPv4": {[]string{"app.server.trusted-proxies=[10.0.0.0/8, 0.0.0.0/0]"},
			"app.server.trusted-proxies[1]", "trusts every address"},
		"trusts all of IPv6":          {[]string{"app.server.trusted-proxies=['::/0']"}, "app.server.trusted-proxies[0]", "trusts every address"},
		"trusts all of IPv4 embedded": {[]string{"app.server.trusted-proxies=['64:ff9b::/96']"}, "app.server.trusted-proxies[0]", "trusts every address"},
		"open without upstream":       {[]string{"app.server.listen=:8080"}, "app.server.listen", "is not loopback and there is no upstream"},
		"open with upstream":          {[]string{"app.server.listen=:8080", "app.gateway.upstream=http://h"}, "", ""},
		"closed without upstream":     {[]string{"app.server.listen=localhost:0"}, "", ""},
		"unused policy": {[]string{fallback, policies(api + ", " + strings.Replace(api, "api", "other", 1))},
			"app.rate-limit.policies[1].id", `"other" is used by no route`},
		"subject header without proxies": {[]string{"app.gateway.subject.from=header", "app.gateway.subject.header=X-A"},
			"app.gateway.subject.header", "never counts"},
		"identity headers without proxies": {[]string{"app.inbound-web.identity.tenant-header=X-T", "app.inbound-web.identity.user-header=X-U"},
			"app.inbound-web.identity.tenant-header", "never counts, because app.server.trusted-proxies is empty"},
		"identity headers with proxies":     {[]string{"app.inbound-web.identity.tenant-header=X-T", "app.server.trusted-proxies=[10.0.0.1]"}, "", ""},
		"replicas that divide the fallback": {inbound("mode=redis", "replicas=3"), "", ""},
		"nothing to limit": {append(inbound("mode=redis"), "app.gateway.upstream="),
			"app.inbound-web.rate-limit.mode", "is redis, and app.gateway.upstream is missing"},
		"replicas that fail closed":  {inbound("mode=redis", "replicas=3", "outage-policy=fail-closed"), "", ""},
		"one replica":                {inbound("mode=redis"), "", ""},
		"replicas without a limiter": {inbound("replicas=3"), "", ""},
		"replicas that count alone":  {inbound("mode=local", "replicas=3", "accept-per-replica-limits=true"), "", ""},
		"a user above its tenant":    {inbound("limits.user=601"), "app.inbound-web.rate-limit.limits.user", "601 is above the tenant's limit, 600"},
		"a key above its tenant":     {inbound("limits.key=601"), "app.inbound-web.rate-limit.limits.key", "601 is above the tenant's limit, 600"},
		"a user equal to its tenant": {inbound("limits.user=600"), "", ""},
		"a user of a named tenant":   {inbound("tenants={acme: {user: 601}}"), "app.inbound-web.rate-limit.tenants.acme.user", "601 is above the tenant's limit, 600"},
		"a named tenant with few":    {inbound("tenants={acme: {tenant: 1}}"), "", ""},
		"a cache without use":        {append(caching[:3:3], "app.cache.redis.hmac-secret-file=secret"), "app.cache.redis.enabled", "nothing uses the cache"},
		"a source without a limiter": {[]string{"app.inbound-web.limits-source.url=https://h"},
			"app.inbound-web.limits-source.url", "is not used: app.inbound-web.rate-limit.mode is off"},
		"a token without a source": {[]string{"app.inbound-web.limits-source.token-file=bearer"},
			"app.inbound-web.limits-source.token-file", "is not used"},
		"a named tenant that is barred": {inbound("tenants={acme: {tenant: 0, user: 5}}"), "", ""},
	} {
		_, report := config.Load(config.Sources{Overrides: row.overrides, ReadFile: files})
		if err := report.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if row.key == "" && len(report.Warnings) > 0 {
			t.Errorf("%s: got %v, want no warning", name, report.Warnings)
		}
		if row.key != "" && (len(report.Warnings) != 1 || report.Warnings[0].Key != row.key || !strings.Contains(report.Warnings[0].Message, row.message)) {
			t.Errorf("%s: got %v, want %s %s", name, report.Warnings, row.key, row.message)
		}
	}
}

func TestLoad_refusesRoutesThatNeverMatch(t *testing.T) {
	for name, row := range map[string]struct {
		routes  string
		message string // "" is no problem
	}{
		"same route twice":       {"{path: /a, policy: api}, {path: /a, policy: api}", "app.rate-limit.routes[0] covers it"},
		"route below a route":    {"{path: '/a/*', policy: api}, {path: /a/b, policy: api}", "never matches"},
		"route at a route's top": {"{path: '/a/*', policy: api}, {path: /a, policy: api}", "never matches"},
		"pattern below a route":  {"{path: '/*', policy: api}, {path: '/a/*', policy: api}", "never matches"},
		"HEAD behind GET":        {"{path: /a, methods: [GET], policy: api}, {path: /a, methods: [HEAD], policy: api}", "never matches"},
		"methods of a set":       {"{path: /a, methods: [GET, PUT], policy: api}, {path: /a, methods: [PUT, GET], policy: api}", "never matches"},
		"another method":         {"{path: /a, methods: [GET], policy: api}, {path: /a, methods: [GET, PUT], policy: api}", ""},
		"GET behind HEAD":        {"{path: /a, methods: [HEAD], policy: api}, {path: /a, methods: [GET], policy: api}", ""},
		"all behind some":        {"{path: /a, methods: [GET], policy: api}, {path: /a, policy: api}", ""},
		"a longer name":          {"{path: '/a/*', policy: api}, {path: /ab, policy: api}", ""},
		"wide behind narrow":     {"{path: /a, policy: api}, {path: '/a/*', policy: api}", ""},
	} {
		_, report := config.Load(config.Sources{Overrides: []string{
			"app.rate-limit.policies=[{id: api, revision: 1, algorithm: fixed-window, limit: 1, window: 1s}]",
			"app.rate-limit.default-policy=api", "app.rate-limit.routes=[" + row.routes + "]",
		}})
		if row.message == "" {
			if err := report.Err(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if len(report.Problems) != 1 || report.Problems[0].Key != "app.rate-limit.routes[1].path" || !strings.Contains(report.Problems[0].Message, row.message) {
			t.Errorf("%s: got %v, want %s", name, report.Problems, row.message)
		}
	}
}

func TestConfig_summary(t *testing.T) {
	var got []string
	for _, s := range load(t, config.Sources{File: example(t)}).Summary() {
		got = append(got, s.String())
	}
	want := []string{
		"policy api revision 1: token-bucket of 20, state lives up to 34s, about 260 bytes a subject, the default",
		"policy search revision 1: sliding-window-counter of 60, state lives up to 2m32s, about 263 bytes a subject",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestLoad_addresses(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.0/8": "10.0.0.0/8", "192.0.2.1": "192.0.2.1/32", "::1": "::1/128", "2001:db8::/32": "2001:db8::/32",
		"::ffff:10.0.0.0/104": "10.0.0.0/8", "::ffff:192.0.2.1": "192.0.2.1/32",
		"64:ff9b::a00:0/104": "10.0.0.0/8", "64:ff9b::c000:201": "192.0.2.1/32", "64:ff9b::/64": "64:ff9b::/64", "::/0": "::/0",
	} {
		got := load(t, config.Sources{Overrides: []string{"app.server.trusted-proxies=['" + text + "']"}}).Server.TrustedProxies
		if len(got) != 1 || got[0].String() != want {
			t.Errorf("%s: got %v, want %s", text, got, want)
		}
	}
	for _, text := range []string{"", " ", "10.0.0.1/8", "fe80::1%eth0", "10.0.0.0/-1", "10.0.0.0/08", "010.0.0.1", "::ffff:0:0/90", "[::1]", "10.0.0.1:80", "unknown"} {
		got := problems(t, config.Sources{Overrides: []string{"app.server.trusted-proxies=['" + text + "']"}})
		if len(got) != 1 || got[0].Key != "app.server.trusted-proxies[0]" {
			t.Errorf("%s: got %v", text, got)
		}
	}
	for _, listen := range []string{"0.0.0.0:1", ":0", "[::]:1", "localhost:1", "host_a.example:1", "[fe80::1%eth0]:1", "127.0.0.1:0"} {
		load(t, config.Sources{Overrides: []string{"app.server.listen=" + listen}})
	}
	for _, listen := range []string{":http", ":-1", ":08", ":+1", "::1:80", "[::1]", "a b:1", "-a:1", "1.2.3:1", "a..b:1", "http://h:1", "é:1"} {
		got := problems(t, config.Sources{Overrides: []string{"app.server.listen=" + listen}})
		if len(got) != 1 || got[0].Key != "app.server.listen" {
			t.Errorf("%s: got %v", listen, got)
		}
	}
}
