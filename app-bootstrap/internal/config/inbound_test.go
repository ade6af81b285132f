package config_test

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/config"
)

func TestLoad_inboundExampleIsClean(t *testing.T) {
	content, err := os.ReadFile("testdata/example-inbound.yaml")
	if err != nil {
		t.Fatal(err)
	}
	beside := []string{"app.server.trusted-proxies=[10.0.0.0/8]", "app.gateway.upstream=http://h"}
	whole, report := config.Load(config.Sources{File: content, Overrides: beside, ReadFile: files})
	if len(report.Problems)+len(report.Warnings) > 0 {
		t.Fatalf("got %v and the warnings %v", report.Err(), report.Warnings)
	}
	got := whole.InboundWeb
	if got.Secret.IsZero() {
		t.Error("got no secret")
	}
	want := config.InboundWeb{
		TenantHeader: "X-Tenant-Id", UserHeader: "X-User-Id", KeyHeader: "X-Key-Id",
		Mode:           config.ModeRedis,
		Redis:          config.InboundRedis{Address: "127.0.0.1:6379", Database: 1},
		Window:         time.Minute,
		Limits:         config.InboundLimits{Tenant: 600, User: 60, Key: 60, Anonymous: 30},
		Tenants:        map[string]config.InboundLimits{"acme": {Tenant: 6000, User: 600, Key: 60, Anonymous: 30}},
		Replicas:       1,
		CommandTimeout: 50 * time.Millisecond,
		Source:         config.LimitsSource{TTL: time.Minute, Timeout: 200 * time.Millisecond},
	}
	got.Secret = want.Secret
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestLoad_tenantIDsAreVerbatim(t *testing.T) {
	ids := []string{
		"acme", "ACME", "a.b", "a", "b", "a.b.user", "user", "a-b_c", "a b", "a/b", "{a}:%", `a"b`, `a\b`, "a[0]", "é", "off", "<<x", "007",
		strings.Repeat("x", 256), strings.Repeat("é", 42),
	}
	var entries []string
	want := map[string]config.InboundLimits{}
	for i, id := range ids {
		entries = append(entries, fmt.Sprintf("%q: {tenant: 900, user: %d}", id, i))
		want[id] = config.InboundLimits{Tenant: 900, User: i, Key: 60, Anonymous: 30}
	}
	table := "{" + strings.Join(entries, ", ") + "}"
	const key = "app.inbound-web.rate-limit.tenants"
	for name, s := range map[string]config.Sources{
		"file":        {File: only(key, table), Overrides: inboundLimits},
		"environment": {Environ: []string{"EDGELIMIT_APP__INBOUND_WEB__RATE_LIMIT__TENANTS=" + table}, Overrides: inboundLimits},
		"override":    {Overrides: append(inboundLimits[:4:4], key+"="+table)},
	} {
		if got := load(t, s).InboundWeb.Tenants; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v\nwant %+v", name, got, want)
		}
	}
}

func TestLoad_tenantsAreReplacedAsAWhole(t *testing.T) {
	s := config.Sources{
		File:    only("app.inbound-web.rate-limit.tenants", "{old: {user: 1}, both: {tenant: 2, user: 2}}"),
		Environ: []string{"EDGELIMIT_APP__INBOUND_WEB__RATE_LIMIT__TENANTS={both: {tenant: 3}}"},
	}
	want := map[string]config.InboundLimits{"both": {Tenant: 3}}
	if got := load(t, s).InboundWeb.Tenants; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	s.Environ[0] = strings.Replace(s.Environ[0], "3", "-3", 1)
	got := problems(t, s)
	if len(got) != 1 || got[0].Key != "app.inbound-web.rate-limit.tenants.both.tenant" || got[0].Where != "EDGELIMIT_APP__INBOUND_WEB__RATE_LIMIT__TENANTS" {
		t.Errorf("got %v, want the variable", got)
	}
	s.Environ[0] = "EDGELIMIT_APP__INBOUND_WEB__RATE_LIMIT__TENANTS={}"
	if got := load(t, s).InboundWeb.Tenants; len(got) > 0 {
		t.Errorf("got %+v, want none", got)
	}
}

func TestLoad_eachTenantHasAPathOfItsOwn(t *testing.T) {
	var got []string
	for _, p := range problems(t, config.Sources{
		File: only("app.inbound-web.rate-limit.tenants", "{a: 1, a.user: {user: -1}, a.b: {user: -1, key: x}, 'a[0]': {key: -1}}"),
	}) {
		got = append(got, strings.TrimPrefix(p.Key, "app.inbound-web.rate-limit.tenants."))
	}
	want := []string{"a", `"a.b".key`, `"a.b".user`, `"a.user".user`, `"a[0]".key`}
	if slices.Sort(want); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLoad_redisURL(t *testing.T) {
	const key = "EDGELIMIT_APP__INBOUND_WEB__RATE_LIMIT__REDIS_URL="
	for name, row := range map[string]struct {
		environ   []string
		overrides []string
		want      string
	}{
		"the key":                       {nil, inbound("mode=redis"), "redis://h:6379/0"},
		"REDIS_URL wins":                {[]string{"REDIS_URL=rediss://me:p@elsewhere:7/3", key + "redis://k"}, inbound("mode=redis"), "rediss://elsewhere:7/3"},
		"empty is unset":                {[]string{"REDIS_URL="}, inbound("mode=redis"), "redis://h:6379/0"},
		"another program's, mode local": {[]string{"REDIS_URL=unix:///tmp"}, inbound("mode=local"), "redis://h:6379/0"},
		"another program's, mode off":   {[]string{"REDIS_URL=unix:///tmp"}, inbound(), "redis://h:6379/0"},
		"the coordination server too":   {nil, append(with(inbound("mode=redis")...), "app.rate-limit.redis.endpoint=redis://h", "app.rate-limit.redis.hmac-secret-file=secret"), "redis://h:6379/0"},
	} {
		if got := load(t, config.Sources{Environ: row.environ, Overrides: row.overrides}).InboundWeb.Redis.Redacted(); got != row.want {
			t.Errorf("%s: got %s, want %s", name, got, row.want)
		}
	}
	url := []string{"REDIS_URL=redis://me:p%40ss@h"}
	got := load(t, config.Sources{Environ: url, Overrides: inbound("mode=redis", "redis-url=")}).InboundWeb.Redis
	if got.Username != "me" || got.Password.Reveal() != "p@ss" || strings.Contains(fmt.Sprintf("%+v %#v", got, got), "p@ss") {
		t.Errorf("got %+v, want a hidden password", got)
	}
	for _, text := range []string{"REDIS_URL=http://h", "REDIS_URL=redis://me@h", "REDIS_URL=redis://h/x"} {
		got := problems(t, config.Sources{Environ: []string{text}, Overrides: inbound("mode=redis")})
		if len(got) != 1 || got[0].Key != "app.inbound-web.rate-limit.redis-url" || got[0].Where != "REDIS_URL" {
			t.Errorf("%s: got %v, want the variable", text, got)
		}
	}
}

func TestLoad_inboundSecret(t *testing.T) {
	environ := []string{"EDGELIMIT_HMAC_SECRET=" + strings.Repeat("e", 32)}
	none := inbound("hmac-secret-file=")
	file := load(t, config.Sources{Overrides: inbound("mode=redis")})
	for name, row := range map[string]struct {
		s    config.Sources
		want []string // what differs from the file's
	}{
		"the file wins":          {config.Sources{Overrides: inbound("mode=redis"), Environ: environ}, nil},
		"the environment":        {config.Sources{Overrides: append(none, "app.inbound-web.rate-limit.mode=redis"), Environ: environ}, []string{"InboundWeb.Secret"}},
		"local with a file":      {config.Sources{Overrides: inbound("mode=local")}, []string{"InboundWeb.Mode"}},
		"off reads no file":      {config.Sources{Overrides: inbound("hmac-secret-file=absent")}, []string{"InboundWeb.Mode", "InboundWeb.Secret"}},
		"off ignores a variable": {config.Sources{Overrides: none, Environ: []string{"EDGELIMIT_HMAC_SECRET=short"}}, []string{"InboundWeb.Mode", "InboundWeb.Secret"}},
	} {
		if got := changed(file, load(t, row.s)); !slices.Equal(got, row.want) {
			t.Errorf("%s: got %q, want %q", name, got, row.want)
		}
	}
	local := append(none, "app.inbound-web.rate-limit.mode=local")
	if got := load(t, config.Sources{Overrides: local}).InboundWeb.Secret; !got.IsZero() {
		t.Error("local without a secret: got one")
	}
	if got := load(t, config.Sources{Overrides: local, Environ: environ}).InboundWeb.Secret; got.IsZero() {
		t.Error("local with the environment's: got none")
	}
}

func TestInboundMode_saysItsWord(t *testing.T) {
	for mode, want := range map[config.InboundMode]string{
		config.ModeOff: "off", config.ModeLocal: "local", config.ModeRedis: "redis", 7: "mode 7", -1: "mode -1",
	} {
		if got := mode.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
