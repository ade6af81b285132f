package config_test

import (
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/config"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
	"github.com/edgelimit/edgelimit/shared-contract/secret"
)

// enabling is everything that enabled: true needs but the secret's file.
var enabling = []string{
	"app.rate-limit.enabled=true", "app.rate-limit.provider=redis", "app.rate-limit.failure-policy=fail-closed",
	"app.rate-limit.default-policy=api", "app.rate-limit.policies=" + onePolicy,
	"app.rate-limit.redis.role=coordination", "app.rate-limit.redis.endpoint=redis://127.0.0.1:6379",
}

const onePolicy = "[{id: api, revision: 1, algorithm: fixed-window, limit: 9, window: 1s, max-cost: 3}]"

// inboundLimits are what a mode other than off needs first.
var inboundLimits = []string{
	"app.inbound-web.rate-limit.limits.tenant=600", "app.inbound-web.rate-limit.limits.user=60",
	"app.inbound-web.rate-limit.limits.key=60", "app.inbound-web.rate-limit.limits.anonymous=30",
}

// leaf is one key set to a distinctive value, and the one field that changes.
type leaf struct {
	key, value string
	before     string   // the value to compare with; "" is the default
	with       []string // what else is set, in both
	also       []string // what the value cannot be set without
	field      string   // "" is none: it has but one legal value, or permits another's
}

var leafRows = []leaf{
	{key: "app.server.listen", value: "127.0.0.2:1234", field: "Server.Listen"},
	{key: "app.server.admin-listen", value: "127.0.0.3:4321", field: "Server.AdminListen"},
	{key: "app.server.admin-token-file", value: "token", field: "Server.AdminToken"},
	{key: "app.server.trusted-proxies", value: "[10.0.0.0/8, 192.0.2.1]", field: "Server.TrustedProxies"},
	{key: "app.server.client-ip.ipv6-prefix", value: "56", field: "Server.IPv6PrefixBits"},
	{key: "app.gateway.upstream", value: "https://origin.example/base", field: "Gateway.Upstream"},
	{key: "app.gateway.subject.from", value: "header", also: []string{"app.gateway.subject.header=X-One"}, field: "Gateway.SubjectHeader"},
	{key: "app.gateway.subject.header", before: "X-One", value: "x-two", with: []string{"app.gateway.subject.from=header"}, field: "Gateway.SubjectHeader"},
	{key: "app.gateway.raw-paths", value: "forward", field: "Gateway.ForwardRawPaths"},
	{key: "app.rate-limit.enabled", before: "false", value: "true", with: append(enabling[1:len(enabling):len(enabling)], "app.rate-limit.redis.hmac-secret-file=secret"), field: "RateLimit.Enabled RateLimit.Redis.Secret"},
	{key: "app.rate-limit.provider", value: "redis"},
	{key: "app.rate-limit.failure-policy", value: "fail-closed"},
	{key: "app.rate-limit.default-policy", value: "api", with: []string{"app.rate-limit.policies=" + onePolicy}, field: "RateLimit.DefaultPolicy"},
	{key: "app.rate-limit.routes", value: `[{path: "/a/*", methods: [PUT], policy: api, cost: 2}]`, with: []string{"app.rate-limit.policies=" + onePolicy}, field: "RateLimit.Routes"},
	{key: "app.rate-limit.policies", value: onePolicy, field: "RateLimit.Policies"},
	{key: "app.rate-limit.redis.role", value: "coordination"},
	{key: "app.rate-limit.redis.endpoint", before: "redis://127.0.0.1", value: "redis://127.0.0.9", field: "RateLimit.Redis.Address"},
	{key: "app.rate-limit.redis.endpoint", before: "redis://127.0.0.1", value: "redis://127.0.0.1:7", field: "RateLimit.Redis.Address"},
	{key: "app.rate-limit.redis.endpoint", before: "redis://127.0.0.1", value: "rediss://127.0.0.1", field: "RateLimit.Redis.TLS"},
	{key: "app.rate-limit.redis.endpoint", before: "redis://127.0.0.1", value: "redis://127.0.0.1/15", field: "RateLimit.Redis.Database"},
	{key: "app.rate-limit.redis.endpoint", before: "redis://127.0.0.1", value: "redis://me@127.0.0.1", field: "RateLimit.Redis.Username"},
	{key: "app.rate-limit.redis.username", value: "me", field: "RateLimit.Redis.Username"},
	{key: "app.rate-limit.redis.password-file", value: "password", with: append(enabling[:len(enabling):len(enabling)], "app.rate-limit.redis.hmac-secret-file=secret"), field: "RateLimit.Redis.Password"},
	{key: "app.rate-limit.redis.hmac-secret-file", value: "secret", with: enabling, field: "RateLimit.Redis.Secret"},
	{key: "app.rate-limit.redis.key-prefix", value: "other", field: "RateLimit.Redis.KeyPrefix"},
	{key: "app.rate-limit.redis.dial-timeout", value: "1234ms", field: "RateLimit.Redis.DialTimeout"},
	{key: "app.rate-limit.redis.command-timeout", value: "77ms", field: "RateLimit.Redis.CommandTimeout"},
	{key: "app.rate-limit.redis.max-in-flight", value: "513", field: "RateLimit.Redis.MaxInFlight"},
	{key: "app.rate-limit.redis.admission-wait", value: "0s", field: "RateLimit.Redis.AdmissionWait"},
	{key: "app.rate-limit.redis.breaker.failures", value: "6", field: "RateLimit.Redis.BreakerFailures"},
	{key: "app.rate-limit.redis.breaker.probe-every", value: "1500ms", field: "RateLimit.Redis.BreakerProbeEvery"},
	{key: "app.rate-limit.denial-cache.max-entries", before: "9", value: "10", field: "RateLimit.DenialCache.MaxEntries"},
	{key: "app.rate-limit.denial-cache.max-entries", value: "10", field: "RateLimit.DenialCache.MaxEntries RateLimit.DenialCache.MaxAge"},
	{key: "app.rate-limit.denial-cache.max-age", value: "250ms", with: []string{"app.rate-limit.denial-cache.max-entries=10"}, field: "RateLimit.DenialCache.MaxAge"},
	{key: "app.inbound-web.identity.tenant-header", value: "x-tenant-id", field: "InboundWeb.TenantHeader"},
	{key: "app.inbound-web.identity.user-header", value: "X-User-Id", with: []string{"app.inbound-web.identity.tenant-header=X-T"}, field: "InboundWeb.UserHeader"},
	{key: "app.inbound-web.identity.key-header", value: "X-Key-Id", with: []string{"app.inbound-web.identity.tenant-header=X-T"}, field: "InboundWeb.KeyHeader"},
	{key: "app.inbound-web.rate-limit.mode", value: "local", with: inboundLimits, field: "InboundWeb.Mode InboundWeb.Secret"},
	{key: "app.inbound-web.rate-limit.mode", before: "local", value: "redis", with: append(inboundLimits[:4:4], "app.inbound-web.rate-limit.redis-url=redis://h"), field: "InboundWeb.Mode"},
	{key: "app.inbound-web.rate-limit.redis-url", before: "redis://127.0.0.1", value: "redis://127.0.0.9", field: "InboundWeb.Redis.Address"},
	{key: "app.inbound-web.rate-limit.redis-url", before: "redis://127.0.0.1", value: "rediss://127.0.0.1", field: "InboundWeb.Redis.TLS"},
	{key: "app.inbound-web.rate-limit.redis-url", before: "redis://127.0.0.1", value: "redis://127.0.0.1/15", field: "InboundWeb.Redis.Database"},
	{key: "app.inbound-web.rate-limit.redis-url", before: "redis://127.0.0.1", value: "redis://me@127.0.0.1", field: "InboundWeb.Redis.Username"},
	{key: "app.inbound-web.rate-limit.hmac-secret-file", value: "secret", with: append(inboundLimits[:4:4], "app.inbound-web.rate-limit.mode=local"), field: "InboundWeb.Secret"},
	{key: "app.inbound-web.rate-limit.window", value: "90s", field: "InboundWeb.Window"},
	{key: "app.inbound-web.rate-limit.limits.tenant", value: "100000", field: "InboundWeb.Limits.Tenant"},
	{key: "app.inbound-web.rate-limit.limits.user", value: "7", field: "InboundWeb.Limits.User"},
	{key: "app.inbound-web.rate-limit.limits.key", value: "8", field: "InboundWeb.Limits.Key"},
	{key: "app.inbound-web.rate-limit.limits.anonymous", value: "9", field: "InboundWeb.Limits.Anonymous"},
	{key: "app.inbound-web.rate-limit.tenants", value: "{acme: {user: 5}}", field: "InboundWeb.Tenants"},
	{key: "app.inbound-web.rate-limit.outage-policy", value: "fail-closed", field: "InboundWeb.FailClosed"},
	{key: "app.inbound-web.rate-limit.replicas", value: "3", field: "InboundWeb.Replicas"},
	{key: "app.inbound-web.rate-limit.accept-per-replica-limits", value: "true"},
	{key: "app.inbound-web.rate-limit.command-timeout", value: "77ms", field: "InboundWeb.CommandTimeout"},
	{key: "app.inbound-web.rate-limit.preflight", value: "count", field: "InboundWeb.CountPreflight"},
	{key: "app.inbound-web.limits-source.url", value: "https://limits.example/v1?env=test", field: "InboundWeb.Source.URL"},
	{key: "app.inbound-web.limits-source.ttl", value: "90s", field: "InboundWeb.Source.TTL"},
	{key: "app.inbound-web.limits-source.timeout", value: "77ms", field: "InboundWeb.Source.Timeout"},
	{key: "app.inbound-web.limits-source.token-file", value: "bearer", with: append(inboundLimits[:4:4], "app.inbound-web.rate-limit.mode=local",
		"app.inbound-web.limits-source.url=https://limits.example"), field: "InboundWeb.Source.Token"},
	{key: "app.cache.redis.enabled", before: "false", value: "true", with: append(caching[1:len(caching):len(caching)], "app.cache.redis.hmac-secret-file=secret"),
		field: "Cache.Enabled Cache.Secret"},
	{key: "app.cache.redis.role", value: "cache"},
	{key: "app.cache.redis.endpoint", before: "redis://127.0.0.1", value: "redis://127.0.0.9", field: "Cache.Address"},
	{key: "app.cache.redis.endpoint", before: "redis://127.0.0.1", value: "rediss://127.0.0.1", field: "Cache.TLS"},
	{key: "app.cache.redis.endpoint", before: "redis://127.0.0.1", value: "redis://127.0.0.1/15", field: "Cache.Database"},
	{key: "app.cache.redis.endpoint", before: "redis://127.0.0.1", value: "redis://me@127.0.0.1", field: "Cache.Username"},
	{key: "app.cache.redis.username", value: "me", field: "Cache.Username"},
	{key: "app.cache.redis.password-file", value: "password", with: append(caching[:len(caching):len(caching)], "app.cache.redis.hmac-secret-file=secret"),
		field: "Cache.Password"},
	{key: "app.cache.redis.hmac-secret-file", value: "secret", with: caching, field: "Cache.Secret"},
	{key: "app.cache.redis.key-prefix", value: "other", field: "Cache.KeyPrefix"},
	{key: "app.cache.redis.dial-timeout", value: "1234ms", field: "Cache.DialTimeout"},
	{key: "app.cache.redis.command-timeout", value: "77ms", field: "Cache.CommandTimeout"},
	{key: "app.cache.redis.max-connections", value: "33", field: "Cache.MaxConnections"},
}

// caching is everything that a cache needs but the secret's file.
var caching = []string{"app.cache.redis.enabled=true", "app.cache.redis.role=cache", "app.cache.redis.endpoint=redis://127.0.0.1:6390"}

func TestLoad_oneLeafChangesOneField(t *testing.T) {
	for _, row := range leafRows {
		t.Run(row.key, func(t *testing.T) {
			environ := []string{"EDGELIMIT_HMAC_SECRET=" + strings.Repeat("e", 32)}
			before := load(t, config.Sources{File: only(row.key, row.before), Overrides: row.with, Environ: environ})
			after := load(t, config.Sources{File: only(row.key, row.value), Overrides: append(row.with, row.also...), Environ: environ})
			if got, want := changed(before, after), strings.Fields(row.field); !slices.Equal(got, want) {
				t.Errorf("%s: %s changed %q, want %q", row.key, row.value, got, want)
			}
		})
	}
}

func TestKeys_eachHasALeafRow(t *testing.T) {
	for _, key := range config.Keys() {
		if !slices.ContainsFunc(leafRows, func(row leaf) bool { return row.key == key.Path }) {
			t.Errorf("%s has no row: is its value wired to a field?", key.Path)
		}
	}
}

func TestLoad_oneParameterChangesOneFieldOfAPolicy(t *testing.T) {
	bucket := "id: a, revision: 1, algorithm: token-bucket, capacity: 20, refill-tokens: 10, refill-period: 1s"
	window := "id: a, revision: 1, algorithm: fixed-window, limit: 20, window: 1s"
	counter := "id: a, revision: 1, algorithm: sliding-window-counter, limit: 20, window: 1s"
	for _, row := range []struct{ policy, from, to, field string }{
		{bucket, "id: a", "id: b", "ID"},
		{bucket, "revision: 1", "revision: 7", "Revision"},
		{window, "fixed-window", "sliding-window-counter", "Algorithm"},
		{bucket, "capacity: 20", "capacity: 21", "Algorithm.Capacity"},
		{bucket, "refill-tokens: 10", "refill-tokens: 11", "Algorithm.RefillTokens"},
		{bucket, "refill-period: 1s", "refill-period: 2s", "Algorithm.RefillPeriod"},
		{window, "limit: 20", "limit: 21", "Algorithm.Limit"},
		{window, "window: 1s", "window: 2s", "Algorithm.Window"},
		{counter, "limit: 20", "limit: 21", "Algorithm.Limit"},
		{counter, "window: 1s", "window: 2s", "Algorithm.Window"},
		{bucket, "1s", "1s, max-cost: 9", "MaxCost"},
		{bucket, "1s", "1s, cleanup-grace: 99s", "CleanupGrace"},
		{bucket, "1s", "1s, max-clock-regression: 3s", "MaxClockRegression"},
	} {
		t.Run(row.to, func(t *testing.T) {
			changedPolicy := strings.Replace(row.policy, row.from, row.to, 1)
			before := load(t, config.Sources{File: only("app.rate-limit.policies", "[{"+row.policy+"}]")}).RateLimit.Policies[0]
			after := load(t, config.Sources{File: only("app.rate-limit.policies", "[{"+changedPolicy+"}]")}).RateLimit.Policies[0]
			var got []string
			for name, value := range parameters(before) {
				if parameters(after)[name] != value {
					got = append(got, name)
				}
			}
			if !slices.Equal(got, []string{row.field}) {
				t.Errorf("%s changed %q, want %q", row.to, got, row.field)
			}
		})
	}
}

func TestLoad_oneKeyChangesOneFieldOfARoute(t *testing.T) {
	base := "[{path: /a, methods: [PUT], policy: api, cost: 2}]"
	with := []string{"app.rate-limit.policies=[{id: api, revision: 1, algorithm: fixed-window, limit: 9, window: 1s, max-cost: 3}, " +
		"{id: two, revision: 1, algorithm: fixed-window, limit: 9, window: 1s, max-cost: 3}]"}
	want := config.Route{Path: "/a", Methods: []string{"PUT"}, Policy: "api", Cost: 2}
	for _, row := range []struct {
		from, to string
		change   func(*config.Route)
	}{
		{"", "", func(*config.Route) {}},
		{"/a", "/b", func(r *config.Route) { r.Path = "/b" }},
		{"[PUT]", "[GET, X-Y]", func(r *config.Route) { r.Methods = []string{"GET", "X-Y"} }},
		{"methods: [PUT], ", "", func(r *config.Route) { r.Methods = []string{} }},
		{"policy: api", "policy: two", func(r *config.Route) { r.Policy = "two" }},
		{"cost: 2", "cost: 3", func(r *config.Route) { r.Cost = 3 }},
		{", cost: 2", "", func(r *config.Route) { r.Cost = 1 }},
	} {
		expected := want
		row.change(&expected)
		file := only("app.rate-limit.routes", strings.Replace(base, row.from, row.to, 1))
		got := load(t, config.Sources{File: file, Overrides: with}).RateLimit.Routes
		if !reflect.DeepEqual(got, []config.Route{expected}) {
			t.Errorf("%s to %s: got %+v, want %+v", row.from, row.to, got, expected)
		}
	}
}

// only is a file with one key; none when value is "".
func only(key, value string) []byte {
	if value == "" {
		return nil
	}
	var text strings.Builder
	parts := strings.Split(key, ".")
	for depth, name := range parts {
		fmt.Fprintf(&text, "%s%s:", strings.Repeat("  ", depth), name)
		if depth < len(parts)-1 {
			text.WriteByte('\n')
		}
	}
	return fmt.Appendf(nil, "%s %s\n", text.String(), value)
}

// changed lists the fields that differ.
func changed(a, b config.Config) []string {
	var out []string
	differences("", reflect.ValueOf(a), reflect.ValueOf(b), &out)
	return out
}

func differences(path string, a, b reflect.Value, out *[]string) {
	if fingerprint(a.Interface()) != "" || fingerprint(b.Interface()) != "" || a.Kind() != reflect.Struct {
		if !equal(a.Interface(), b.Interface()) {
			*out = append(*out, strings.TrimPrefix(path, "."))
		}
		return
	}
	for i := range a.NumField() {
		differences(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i), out)
	}
}

func equal(a, b any) bool {
	if fa, fb := fingerprint(a), fingerprint(b); fa != "" || fb != "" {
		return fa == fb
	}
	return reflect.DeepEqual(a, b)
}

// fingerprint compares what is opaque by what it says of itself.
func fingerprint(v any) string {
	switch v := v.(type) {
	case config.Sensitive:
		return "text " + v.Reveal()
	case secret.Secret:
		if v.IsZero() {
			return "none"
		}
		return fmt.Sprintf("%x", v.Key("test"))
	case *url.URL:
		return "url " + fmt.Sprint(v)
	case []netip.Prefix:
		return fmt.Sprint(v)
	case ratelimit.Policy:
		return fmt.Sprint("policy ", parameters(v))
	}
	return ""
}

// parameters is everything that a policy says of itself.
func parameters(p ratelimit.Policy) map[string]string {
	out := map[string]string{
		"ID": p.ID(), "Revision": fmt.Sprint(p.Revision()), "MaxCost": fmt.Sprint(p.MaxCost()),
		"CleanupGrace": p.CleanupGrace().String(), "MaxClockRegression": p.MaxClockRegression().String(),
		"FailureMode": string(p.FailureMode()),
	}
	if p.IsZero() {
		return out
	}
	out["Algorithm"] = string(p.Algorithm().Name())
	parameters := reflect.ValueOf(p.Algorithm())
	for i := range parameters.NumField() {
		out["Algorithm."+parameters.Type().Field(i).Name] = fmt.Sprint(parameters.Field(i))
	}
	return out
}
