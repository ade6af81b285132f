package config_test

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/config"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

func TestLoad_exampleIsClean(t *testing.T) {
	got, report := config.Load(config.Sources{File: example(t), FileName: "example.yaml", ReadFile: files})
	if len(report.Problems)+len(report.Warnings) > 0 {
		t.Fatalf("got %v and the warnings %v", report.Err(), report.Warnings)
	}
	limits := got.RateLimit
	bucket := ratelimit.TokenBucket{Capacity: 20, RefillTokens: 10, RefillPeriod: time.Second}
	if !limits.Enabled || limits.DefaultPolicy.Algorithm() != ratelimit.Algorithm(bucket) || limits.DefaultPolicy.MaxCost() != 5 {
		t.Errorf("got %+v, want the default policy %+v", limits, bucket)
	}
	if len(limits.Policies) != 2 || limits.Policies[1].ID() != "search" || limits.Redis.Secret.IsZero() {
		t.Errorf("got %+v, want both policies and the secret", limits)
	}
}

func TestLoad_nothingIsTheDefaults(t *testing.T) {
	want := config.Config{
		Server: config.Server{
			Listen: "127.0.0.1:8080", AdminListen: "127.0.0.1:9090", TrustedProxies: []netip.Prefix{}, IPv6PrefixBits: 64,
		},
		RateLimit: config.RateLimit{
			Policies: []ratelimit.Policy{}, Routes: []config.Route{},
			Redis: config.Redis{
				KeyPrefix: "edgelimit", DialTimeout: time.Second, CommandTimeout: 50 * time.Millisecond,
				AdmissionWait: 5 * time.Millisecond, MaxInFlight: 512, BreakerFailures: 5, BreakerProbeEvery: time.Second,
			},
		},
		InboundWeb: config.InboundWeb{
			Window: time.Minute, Tenants: map[string]config.InboundLimits{}, Replicas: 1, CommandTimeout: 50 * time.Millisecond,
			Source: config.LimitsSource{TTL: time.Minute, Timeout: 200 * time.Millisecond},
		},
		Cache: config.Cache{KeyPrefix: "edgelimit", DialTimeout: time.Second, CommandTimeout: 50 * time.Millisecond, MaxConnections: 32},
	}
	for name, file := range map[string]string{
		"no file": "", "comments": "# nothing\n\n", "a marker": "---\n", "an empty section": "app: {}\n",
		"a byte order mark": "\ufeffapp: {}\n", "carriage returns": "app:\r\n  server: {}\r\n",
	} {
		if got := load(t, config.Sources{File: []byte(file), ReadFile: noFiles(t)}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v\nwant %+v", name, got, want)
		}
	}
}

func TestLoad_laterSourcesWin(t *testing.T) {
	file := []byte("app:\n  server: {listen: 127.0.0.1:1, admin-listen: 127.0.0.1:2, client-ip: {ipv6-prefix: 33}}\n")
	environ := []string{"EDGELIMIT_APP__SERVER__LISTEN=127.0.0.1:3", "EDGELIMIT_APP__SERVER__ADMIN_LISTEN=127.0.0.1:4"}
	overrides := []string{"app.server.listen=127.0.0.1:5", "app.server.listen=127.0.0.1:6"}
	got := load(t, config.Sources{File: file, Environ: environ, Overrides: overrides}).Server
	if got.Listen != "127.0.0.1:6" || got.AdminListen != "127.0.0.1:4" || got.IPv6PrefixBits != 33 {
		t.Errorf("got %+v, want port 6 of the override, port 4 of the environment, 33 of the file", got)
	}
}

func TestLoad_environment(t *testing.T) {
	got := load(t, config.Sources{File: example(t), Environ: []string{
		"HOME=/root", "REDIS_URL=redis://elsewhere", "EDGELIMIT_VECTORS=x", "EDGELIMIT_APP=x", "=C:=x",
		"EDGELIMIT_APP__SERVER__LISTEN=[::1]:8080",
		"EDGELIMIT_APP__SERVER__TRUSTED_PROXIES=[10.0.0.0/8, '::1']",
		"EDGELIMIT_APP__GATEWAY__UPSTREAM=",
		"EDGELIMIT_APP__RATE_LIMIT__DEFAULT_POLICY='007'",
		"EDGELIMIT_APP__RATE_LIMIT__ROUTES=[]",
		"EDGELIMIT_APP__RATE_LIMIT__POLICIES=[{id: '007', revision: 1, algorithm: fixed-window, limit: 7, window: 7s}]",
		"EDGELIMIT_APP__RATE_LIMIT__REDIS__ENDPOINT=rediss://me:p%40ss@redis.example/3",
		"EDGELIMIT_APP__RATE_LIMIT__REDIS__BREAKER__PROBE_EVERY=2s",
		"EDGELIMIT_APP__RATE_LIMIT__REDIS__MAX_IN_FLIGHT=9",
	}})
	r := got.RateLimit.Redis
	if r.Address != "redis.example:6379" || !r.TLS || r.Database != 3 || r.Username != "me" || r.Password.Reveal() != "p@ss" {
		t.Errorf("got the endpoint %+v", r)
	}
	if r.BreakerProbeEvery != 2*time.Second || r.MaxInFlight != 9 || r.BreakerFailures != 5 {
		t.Errorf("got %+v, want the nested keys of the environment beside those of the file", r)
	}
	if got.RateLimit.DefaultPolicy.Limit() != 7 || len(got.RateLimit.Policies) != 1 || len(got.RateLimit.Routes) != 0 {
		t.Errorf("got %+v, want the lists replaced as a whole", got.RateLimit)
	}
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	if !reflect.DeepEqual(got.Server.TrustedProxies, proxies) || got.Server.Listen != "[::1]:8080" || got.Gateway.Upstream != nil {
		t.Errorf("got %+v and %+v", got.Server, got.Gateway)
	}
}

func TestLoad_refusesVariablesAndOverridesByName(t *testing.T) {
	for _, row := range []struct{ environ, override, key, where, message string }{
		{environ: "EDGELIMIT_APP__SERVER__LISTN=x", key: "app.server.listn", where: "EDGELIMIT_APP__SERVER__LISTN", message: "is not a key"},
		{environ: "EDGELIMIT_APP__server__listen=x", key: "app.server.listen", where: "EDGELIMIT_APP__server__listen", message: "write EDGELIMIT_APP__SERVER__LISTEN"},
		{environ: "EDGELIMIT_APP__=x", key: "app.", where: "EDGELIMIT_APP__", message: "is not a key"},
		{environ: "EDGELIMIT_APP__RATE_LIMIT__POLICIES__0__LIMIT=5", key: "app.rate-limit.policies.0.limit", where: "EDGELIMIT_APP__RATE_LIMIT__POLICIES__0__LIMIT", message: "is not a key"},
		{environ: "EDGELIMIT_APP__INBOUND_WEB__RATE_LIMIT__TENANTS__ACME__USER=5", key: "app.inbound-web.rate-limit.tenants.acme.user", where: "EDGELIMIT_APP__INBOUND_WEB__RATE_LIMIT__TENANTS__ACME__USER", message: "is not a key"},
		{environ: "EDGELIMIT_APP__INBOUND_WEB__RATE_LIMIT__TENANTS=acme", key: "app.inbound-web.rate-limit.tenants", where: "EDGELIMIT_APP__INBOUND_WEB__RATE_LIMIT__TENANTS", message: "must be a section whose keys are ids"},
		{environ: "EDGELIMIT_APP__RATE_LIMIT__REDIS={}", key: "app.rate-limit.redis", where: "EDGELIMIT_APP__RATE_LIMIT__REDIS", message: "is not a key"},
		{environ: "EDGELIMIT_APP__RATE_LIMIT__ENABLED=", key: "app.rate-limit.enabled", where: "EDGELIMIT_APP__RATE_LIMIT__ENABLED", message: "is empty"},
		{environ: "EDGELIMIT_APP__RATE_LIMIT__ENABLED=1", key: "app.rate-limit.enabled", where: "EDGELIMIT_APP__RATE_LIMIT__ENABLED", message: "must be true or false"},
		{environ: "EDGELIMIT_APP__RATE_LIMIT__REDIS__MAX_IN_FLIGHT='5'", key: "app.rate-limit.redis.max-in-flight", where: "EDGELIMIT_APP__RATE_LIMIT__REDIS__MAX_IN_FLIGHT", message: "whole number"},
		{environ: "EDGELIMIT_APP__RATE_LIMIT__REDIS__ADMISSION_WAIT=5", key: "app.rate-limit.redis.admission-wait", where: "EDGELIMIT_APP__RATE_LIMIT__REDIS__ADMISSION_WAIT", message: "needs a unit"},
		{environ: "EDGELIMIT_APP__SERVER__TRUSTED_PROXIES=10.0.0.0/8", key: "app.server.trusted-proxies", where: "EDGELIMIT_APP__SERVER__TRUSTED_PROXIES", message: "must be a list"},
		{environ: "EDGELIMIT_APP__SERVER__TRUSTED_PROXIES=[&a 10.0.0.0/8, *a]", key: "app.server.trusted-proxies", where: "EDGELIMIT_APP__SERVER__TRUSTED_PROXIES", message: "YAML anchor"},
		{environ: "EDGELIMIT_APP__SERVER__LISTEN=\xff:1", key: "app.server.listen", where: "EDGELIMIT_APP__SERVER__LISTEN", message: "printable text"},
		{override: "app.server.listen", where: "--set number 1", message: "write key=value"},
		{override: "app.server.listn=x", key: "app.server.listn", where: "--set", message: "is not a key that can be set"},
		{override: "app.server=x", key: "app.server", where: "--set", message: "is a section"},
		{override: "=x", key: `""`, where: "--set", message: "is not a key that can be set"},
		{override: "app.rate-limit.policies[0].limit=5", key: "app.rate-limit.policies[0].limit", where: "--set", message: "a list is set as a whole"},
		{override: "app.inbound-web.rate-limit.tenants.acme.user=5", key: "app.inbound-web.rate-limit.tenants.acme.user", where: "--set", message: "and so are the tenants"},
		{override: "app.inbound-web.rate-limit.redis-url=redis://:hunter2@h", key: "app.inbound-web.rate-limit.redis-url", where: "--set", message: "holds a password"},
		{override: "app.server.listen.port=5", key: "app.server.listen.port", where: "--set", message: "is not a key that can be set"},
		{override: "app.rate-limit.redis.endpoint=redis://:hunter2@h", key: "app.rate-limit.redis.endpoint", where: "--set", message: "holds a password"},
	} {
		s := config.Sources{}
		if row.environ != "" {
			s.Environ = []string{row.environ}
		}
		if row.override != "" {
			s.Overrides = []string{row.override}
		}
		got := problems(t, s)[0]
		if got.Key != row.key || got.Where != row.where || !strings.Contains(got.Message, row.message) || strings.Contains(got.Message, "hunter2") {
			t.Errorf("%s%s: got %q", row.environ, row.override, got)
		}
	}
}

func TestLoad_reportsEverythingAtOnce(t *testing.T) {
	got := problems(t, config.Sources{
		File:      []byte("app:\n  server: {listen: 1, listn: 2}\n  rate-limit:\n    enabled: true\n    policies: [{id: A, limit: 010}]\n"),
		FileName:  "f",
		Environ:   []string{"EDGELIMIT_APP__X=1"},
		Overrides: []string{"app.gateway.raw-paths=maybe"},
	})
	want := []string{
		"app.server.listen (f:2)", "app.server.listn (f:2)", "app.rate-limit.policies[0].limit (f:5)", "app.x (EDGELIMIT_APP__X)",
		"app.gateway.raw-paths (--set)", "app.rate-limit.provider (f:4)", "app.rate-limit.failure-policy (f:4)",
		"app.rate-limit.default-policy (f:4)", "app.rate-limit.redis.role (f:4)", "app.rate-limit.redis.endpoint (f:4)",
		"app.rate-limit.policies[0].revision (f:5)", "app.rate-limit.policies[0].algorithm (f:5)",
		"app.rate-limit.policies[0].id (f:5)", "app.rate-limit.redis.hmac-secret-file (f:4)",
	}
	if len(got) != len(want) {
		t.Errorf("got %d problems, want %d", len(got), len(want))
	}
	for i, p := range got {
		if i < len(want) && !strings.HasPrefix(p.String(), want[i]+" ") {
			t.Errorf("problem %d: got %q, want it about %s", i, p, want[i])
		}
	}
}

func TestLoad_refusesATextThatIsNoConfiguration(t *testing.T) {
	bomb := "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\napp: *c\n"
	for name, row := range map[string]struct{ text, message string }{
		"too large":        {strings.Repeat("#", 1<<20+1), "is larger than 1048576 bytes"},
		"UTF-16":           {"\xff\xfea\x00", "is not UTF-8"},
		"a control byte":   {"app: {}\x00", "is not valid YAML"},
		"a deep nest":      {strings.Repeat("[", 1<<19), "is not valid YAML"},
		"a billion laughs": {bomb, "YAML anchor"},
		"a null document":  {"null\n", "must be a section"},
	} {
		all := problems(t, config.Sources{File: []byte(row.text), FileName: "f", Overrides: []string{"app.rate-limit.enabled=true"}})
		for _, p := range all {
			if strings.Contains(p.Message, "is missing") {
				t.Errorf("%s: got %q, and the file was not read", name, p)
			}
		}
		got := all[0]
		if !strings.Contains(got.Message, row.message) || !strings.HasPrefix(got.Where, "f") {
			t.Errorf("%s: got %q, want %q", name, got, row.message)
		}
	}
}

func TestLoad_namesTheLineOfEachIndirection(t *testing.T) {
	file := "app:\n  server: &s {}\n  gateway: *s\n  rate-limit: {<<: {}}\n"
	var got []string
	for _, p := range problems(t, config.Sources{File: []byte(file), FileName: "f"}) {
		got = append(got, p.Where)
	}
	if strings.Join(got, " ") != "f:2 f:3 f:4" {
		t.Errorf("got %q, want lines 2 to 4 and nothing that follows from them", got)
	}
}

func TestLoad_boundsItsLists(t *testing.T) {
	for key, entry := range map[string]string{
		"app.server.trusted-proxies": "192.0.2.1", "app.rate-limit.policies": "{}", "app.rate-limit.routes": "{}",
	} {
		got := problems(t, config.Sources{Overrides: []string{key + "=[" + strings.Repeat(entry+",", 1001) + "]"}})
		if len(got) != 1 || got[0].Key != key || !strings.Contains(got[0].Message, "has 1001 entries: keep at most 1000") {
			t.Errorf("%s: got %d problems, the first %v", key, len(got), got[0])
		}
	}
}

func TestLoad_aReplacedListNamesItsOwnSource(t *testing.T) {
	got := problems(t, config.Sources{
		File:    []byte("app: {rate-limit: {policies: [{id: b, revision: 1, algorithm: fixed-window, limit: 1, window: 1s}]}}"),
		Environ: []string{"EDGELIMIT_APP__RATE_LIMIT__POLICIES=[{id: a, revision: 1}]"},
	})
	if len(got) != 1 || got[0].Where != "EDGELIMIT_APP__RATE_LIMIT__POLICIES" || got[0].Key != "app.rate-limit.policies[0].algorithm" {
		t.Errorf("got %v, want the variable", got)
	}
}
