package config_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/config"
)

// FuzzLoad: whatever the sources hold, Load answers either problems and the zero
// Config or none and a usable one, and the same twice.
func FuzzLoad(f *testing.F) {
	faulty, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range faulty {
		content, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content, "RATE_LIMIT__ENABLED", "true", "app.server.listen=127.0.0.1:0")
	}
	f.Add([]byte("app: {}"), "RATE_LIMIT__POLICIES", onePolicy, "app.rate-limit.redis.endpoint=redis://h")
	f.Add([]byte("app: {}"), "INBOUND_WEB__RATE_LIMIT__TENANTS", "{a.b: {user: 5}, 'a\"b': {}}", "app.inbound-web.rate-limit.mode=local")
	f.Fuzz(func(t *testing.T, file []byte, variable, value, override string) {
		s := config.Sources{
			File: file, Environ: []string{"EDGELIMIT_APP__" + variable + "=" + value}, Overrides: []string{override}, ReadFile: files,
		}
		got, report := config.Load(s)
		again, _ := config.Load(s)
		if differ := changed(got, again); len(differ) > 0 {
			t.Fatalf("got %+v and then %+v, which differ in %q", got, again, differ)
		}
		if len(report.Problems) > 0 {
			checkRefused(t, got, report)
			return
		}
		checkUsable(t, got)
	})
}

func checkRefused(t *testing.T, got config.Config, report config.Report) {
	if !reflect.ValueOf(got).IsZero() || report.Err() == nil {
		t.Fatalf("got %+v beside %v", got, report.Err())
	}
	for _, p := range report.Problems {
		if p.Message == "" || p.Key == "" && p.Where == "" || strings.ContainsAny(p.Key+p.Where, "\n\x00") {
			t.Fatalf("problem %#v does not say what and where", p)
		}
	}
}

func checkUsable(t *testing.T, got config.Config) {
	limits, redis := got.RateLimit, got.RateLimit.Redis
	if got.Server.Listen == "" || got.Server.IPv6PrefixBits < 32 || redis.MaxInFlight < 1 || redis.CommandTimeout <= 0 ||
		redis.DialTimeout <= 0 || redis.BreakerFailures < 1 || redis.BreakerProbeEvery <= 0 || redis.KeyPrefix == "" {
		t.Fatalf("got a value out of its bounds: %+v", got)
	}
	if d := limits.DenialCache; d != (config.DenialCache{}) &&
		(d.MaxEntries < 1 || d.MaxEntries > 1_000_000 || d.MaxAge < time.Millisecond || d.MaxAge > 10*time.Second) {
		t.Fatalf("got the denial cache %+v", d)
	}
	checkInbound(t, got.InboundWeb)
	known := map[string]int64{}
	for _, p := range limits.Policies {
		if p.IsZero() || known[p.ID()] > 0 {
			t.Fatalf("got the policy %+v", p)
		}
		known[p.ID()] = p.MaxCost()
	}
	for _, r := range limits.Routes {
		if r.Cost < 1 || r.Cost > known[r.Policy] || !strings.HasPrefix(r.Path, "/") {
			t.Fatalf("got the route %+v with the policies %v", r, known)
		}
	}
	if limits.Enabled && (limits.DefaultPolicy.IsZero() || redis.Address == "" || redis.Secret.IsZero()) {
		t.Fatalf("enabled and incomplete: %+v", limits)
	}
}

func checkInbound(t *testing.T, got config.InboundWeb) {
	if got.Window < time.Millisecond || got.Replicas < 1 || got.CommandTimeout <= 0 || got.Tenants == nil ||
		got.TenantHeader == "" && got.UserHeader+got.KeyHeader != "" {
		t.Fatalf("got a value out of its bounds: %+v", got)
	}
	if got.Mode == config.ModeRedis && (got.Redis.Address == "" || got.Secret.IsZero()) {
		t.Fatalf("mode redis and incomplete: %+v", got)
	}
	for id, limits := range got.Tenants {
		if id == "" || len(id) > 256 || min(limits.Tenant, limits.User, limits.Key) < 0 || max(limits.Tenant, limits.User, limits.Key) > 100_000 {
			t.Fatalf("got the tenant %q with %+v", id, limits)
		}
	}
}
