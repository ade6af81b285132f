package config_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/config"
)

func with(entries ...string) []string {
	return append(enabling[:len(enabling):len(enabling)], entries...)
}

func TestConfig_printsNoSecret(t *testing.T) {
	c := load(t, config.Sources{
		Environ: []string{"EDGELIMIT_HMAC_SECRET=" + strings.Repeat("hunter2", 5)},
		Overrides: with("app.rate-limit.redis.password-file=p", "app.rate-limit.redis.username=me",
			"app.server.admin-token-file=t"),
		ReadFile: func(string) ([]byte, error) { return []byte(strings.Repeat("hunter2", 5)), nil },
	})
	if len(c.RateLimit.Redis.Password.Reveal()) != 35 || len(c.Server.AdminToken.Reveal()) != 35 {
		t.Fatalf("got %+v, want password and token", c)
	}
	type private struct{ sensitive []config.Sensitive }
	hidden := private{[]config.Sensitive{c.Server.AdminToken, c.RateLimit.Redis.Password}}
	var printed strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&printed, verb+verb+verb+"\n", c.Server, c.RateLimit.Redis.Password, hidden)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		fmt.Fprintf(&printed, verb+verb+"\n", c, &c)
	}
	encoded, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if want := `"AdminToken":"[redacted]"`; !strings.Contains(string(encoded), want) {
		t.Errorf("got %s, want it to hold %s", encoded, want)
	}
	printed.Write(encoded)
	slog.New(slog.NewJSONHandler(&printed, nil)).Info("x", "config", c, "password", c.RateLimit.Redis.Password)
	slog.New(slog.NewTextHandler(&printed, nil)).Info("x", "config", c, "password", c.RateLimit.Redis.Password)
	text := printed.String()
	if strings.Contains(text, "hunter2") || strings.Contains(text, fmt.Sprintf("%x", "hunter2")) || strings.Contains(text, "104 117 110") {
		t.Errorf("a secret is printed:\n%s", text)
	}
	if !strings.Contains(text, "[redacted]") {
		t.Errorf("nothing says that something is hidden:\n%s", text)
	}
}

func TestRedis_redactedIsTheEndpointAlone(t *testing.T) {
	for endpoint, want := range map[string]string{
		"":                                  "",
		"redis://127.0.0.1":                 "redis://127.0.0.1:6379/0",
		"rediss://me:hunter2@[::1]:7/12":    "rediss://[::1]:7/12",
		"redis://:hunter2@redis.example:1/": "redis://redis.example:1/0",
	} {
		environ := []string{"EDGELIMIT_APP__RATE_LIMIT__REDIS__ENDPOINT=" + endpoint}
		if got := load(t, config.Sources{Environ: environ}).RateLimit.Redis.Redacted(); got != want {
			t.Errorf("%s: got %s, want %s", endpoint, got, want)
		}
	}
}

func TestLoad_aBrokenEndpointIsNotRepeated(t *testing.T) {
	for _, endpoint := range []string{
		"redis://:hunter2@", "redis://:hunter2%zz@h", "hunter2@h:1", "redis://me:hunter2/x@h", "redis://h/hunter2", "http://:hunter2@h",
		"'redis://:hunter2", "redis://h:hunter2", "redis://hunter2@h#x", "hunter2:6379",
	} {
		for _, s := range []config.Sources{
			{Environ: []string{"EDGELIMIT_APP__RATE_LIMIT__REDIS__ENDPOINT=" + endpoint}},
			{Environ: []string{"EDGELIMIT_APP__INBOUND_WEB__RATE_LIMIT__REDIS_URL=" + endpoint}},
			{Environ: []string{"REDIS_URL=" + endpoint}, Overrides: inbound("mode=redis")},
		} {
			for _, p := range problems(t, s) {
				if strings.Contains(p.String(), "hunter2") {
					t.Errorf("%s: got %s", endpoint, p)
				}
			}
		}
	}
}

func TestLoad_aSecretInTheWrongPlaceIsNotRepeated(t *testing.T) {
	for _, key := range []string{
		"app.rate-limit.redis.endpoint", "app.rate-limit.redis.password-file", "app.rate-limit.redis.hmac-secret-file",
		"app.server.admin-token-file", "app.gateway.upstream",
		"app.inbound-web.rate-limit.redis-url", "app.inbound-web.rate-limit.hmac-secret-file",
	} {
		got := problems(t, config.Sources{File: only(key, "8675309")})
		if len(got) != 1 || got[0].Key != key || strings.Contains(got[0].String(), "8675309") {
			t.Errorf("%s: got %v", key, got)
		}
	}
}

func TestLoad_aFilesPasswordIsRefusedThoughOverridden(t *testing.T) {
	got := problems(t, config.Sources{
		File:    only("app.rate-limit.redis.endpoint", "redis://:hunter2@h"),
		Environ: []string{"EDGELIMIT_APP__RATE_LIMIT__REDIS__ENDPOINT=redis://h"},
	})
	if len(got) != 1 || got[0].Where != "the file:4" {
		t.Errorf("got %v, want the file's line", got)
	}
}

func TestLoad_readsSecretFilesOnlyWhenNeeded(t *testing.T) {
	named := []string{"app.rate-limit.redis.password-file=absent", "app.rate-limit.redis.hmac-secret-file=absent"}
	load(t, config.Sources{Overrides: named, ReadFile: noFiles(t), Environ: []string{"EDGELIMIT_HMAC_SECRET=short"}})
	load(t, config.Sources{ReadFile: noFiles(t), Overrides: []string{
		"app.server.admin-listen=", "app.server.admin-token-file=absent"}})
}

func TestLoad_theSecretFileWins(t *testing.T) {
	const environ = "EDGELIMIT_HMAC_SECRET=eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
	file := with("app.rate-limit.redis.hmac-secret-file=secret")
	alone := load(t, config.Sources{Overrides: file})
	both := load(t, config.Sources{Overrides: file, Environ: []string{environ}})
	fromEnviron := load(t, config.Sources{Overrides: with(), Environ: []string{environ}})
	if got := changed(alone, both); len(got) > 0 {
		t.Errorf("beside the file, the environment changed %v", got)
	}
	if got := changed(alone, fromEnviron); len(got) != 1 {
		t.Errorf("got %v, want another secret from the environment", got)
	}
	got := problems(t, config.Sources{Overrides: with(), Environ: []string{"EDGELIMIT_HMAC_SECRET=short"}})
	if len(got) != 1 || got[0].Key != "app.rate-limit.redis.hmac-secret-file" || !strings.Contains(got[0].Message, "EDGELIMIT_HMAC_SECRET is too short") {
		t.Errorf("got %v, want the variable to be too short", got)
	}
}

func TestLoad_oneNewlineIsNotPartOfAPasswordOrToken(t *testing.T) {
	for content, want := range map[string]string{
		"a b": "a b", "a b\n": "a b", "a b\r\n": "a b", "a b\n\n": "a b\n", " a b ": " a b ",
	} {
		contents := func(name string) ([]byte, error) {
			if name == "p" {
				return []byte(content), nil
			}
			return files(name)
		}
		got := load(t, config.Sources{ReadFile: contents, Overrides: with(
			"app.rate-limit.redis.hmac-secret-file=secret", "app.rate-limit.redis.password-file=p")})
		if got.RateLimit.Redis.Password.Reveal() != want {
			t.Errorf("%q: got %q, want %q", content, got.RateLimit.Redis.Password.Reveal(), want)
		}
	}
	token := load(t, config.Sources{Overrides: []string{"app.server.admin-listen=:9090", "app.server.admin-token-file=token"}})
	if got := token.Server.AdminToken.Reveal(); got != strings.Repeat("t", 32) {
		t.Errorf("got the token %q", got)
	}
}

func TestLoad_twoPasswordsAreRefused(t *testing.T) {
	got := problems(t, config.Sources{
		Environ:   []string{"EDGELIMIT_APP__RATE_LIMIT__REDIS__ENDPOINT=redis://:hunter2@h"},
		Overrides: []string{"app.rate-limit.redis.password-file=password"},
	})
	if len(got) != 1 || got[0].Key != "app.rate-limit.redis.password-file" {
		t.Errorf("got %v, want the password file", got)
	}
}
