package config_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/config"
)

// faulty has one row for each testdata/bad-*.yaml, which has one fault.
var faulty = []struct{ file, key, message string }{
	{"not-yaml", "", `is not valid YAML`},
	{"tab", "", `indented with a tab`},
	{"two-documents", "", `second document`},
	{"anchor", "", `YAML anchor`},
	{"tag", "", `YAML tag`},
	{"merge-key", "", `merge key`},
	{"root-list", "", `must be a section that begins with app:`},
	{"root-word", "", `must be a section that begins with app:`},
	{"unknown-root", "apps", `is not a key: the file has only app`},
	{"unknown-key", "app.server.listn", `is not a key: app.server has listen, admin-listen`},
	{"unknown-policy-key", "app.rate-limit.policies[0].burst", `is not a key`},
	{"key-under-wrong-parent", "app.rate-limit.endpoint", `is not a key`},
	{"key-in-capitals", "app.server.Listen", `is not a key`},
	{"duplicate-key", "app.server.listen", `is given twice`},
	{"duplicate-section", "app.server", `is given twice`},
	{"key-not-a-word", "app.?", `a key that is not a word`},
	{"null-section", "app.server", `is null: give it a value or remove the key`},
	{"null-value", "app.server.listen", `is null`},
	{"section-as-word", "app.server", `must be a section`},
	{"word-as-section", "app.server.listen", `must be a string; it is a section`},
	{"string-as-number", "app.server.listen", `must be a string: put it in quotes`},
	{"list-as-word", "app.server.trusted-proxies", `must be a list`},
	{"list-item-null", "app.server.trusted-proxies[1]", `is null`},
	{"bool-as-word", "app.rate-limit.enabled", `must be true or false`},
	{"bool-quoted", "app.rate-limit.enabled", `must be true or false`},
	{"number-quoted", "app.rate-limit.redis.max-in-flight", `whole number in plain digits`},
	{"number-lossy", "app.rate-limit.redis.max-in-flight", `whole number in plain digits`},
	{"policy-as-word", "app.rate-limit.policies[0]", `must be a section`},
	{"duration-without-unit", "app.rate-limit.redis.command-timeout", `needs a unit, as in 50s or 50ms`},
	{"listen-without-port", "app.server.listen", `must be host:port`},
	{"listen-port", "app.server.listen", `must be host:port`},
	{"listen-host", "app.server.listen", `must be host:port`},
	{"listen-empty", "app.server.listen", `must be host:port`},
	{"upstream-loop", "app.gateway.upstream", `is the address of app.server.listen`},
	{"upstream-loop-admin", "app.gateway.upstream", `is the address of app.server.admin-listen`},
	{"listen-twice", "app.server.admin-listen", `is the address of app.server.listen`},
	{"listen-twice-everywhere", "app.server.admin-listen", `is the address of app.server.listen`},
	{"admin-open", "app.server.admin-token-file", `is missing`},
	{"admin-token-absent", "app.server.admin-token-file", `cannot be read: file does not exist`},
	{"admin-token-short", "app.server.admin-token-file", `names a file of 31 bytes: a token has at least 32`},
	{"admin-token-binary", "app.server.admin-token-file", `no header can carry`},
	{"proxy", "app.server.trusted-proxies[1]", `must be a CIDR or an address`},
	{"proxy-length", "app.server.trusted-proxies[0]", `must be a CIDR`},
	{"proxy-host-bits", "app.server.trusted-proxies[0]", `write 10.0.0.0/8`},
	{"ipv6-prefix", "app.server.client-ip.ipv6-prefix", `must be between 32 and 128; it is 129`},
	{"upstream-scheme", "app.gateway.upstream", `must be an http or https URL`},
	{"upstream-no-host", "app.gateway.upstream", `with a host`},
	{"upstream-port", "app.gateway.upstream", `must be an http or https URL`},
	{"upstream-user", "app.gateway.upstream", `must not hold a user or a password`},
	{"upstream-query", "app.gateway.upstream", `must not have a query`},
	{"upstream-fragment", "app.gateway.upstream", `must not have a query or a fragment`},
	{"subject-from", "app.gateway.subject.from", `must be client-ip or header`},
	{"subject-header-missing", "app.gateway.subject.header", `is missing`},
	{"subject-header-unused", "app.gateway.subject.header", `is not used with from: client-ip`},
	{"subject-header-form", "app.gateway.subject.header", `must be a header's name`},
	{"subject-header-reserved", "app.gateway.subject.header", `must not be Authorization`},
	{"subject-header-forwarded", "app.gateway.subject.header", `must not be X-Forwarded-For`},
	{"raw-paths", "app.gateway.raw-paths", `must be reject or forward`},
	{"enabled-without-provider", "app.rate-limit.provider", `is missing`},
	{"enabled-without-failure-policy", "app.rate-limit.failure-policy", `write failure-policy: fail-closed`},
	{"enabled-without-default-policy", "app.rate-limit.default-policy", `is missing`},
	{"enabled-without-role", "app.rate-limit.redis.role", `write role: coordination`},
	{"enabled-without-endpoint", "app.rate-limit.redis.endpoint", `is missing`},
	{"enabled-without-secret", "app.rate-limit.redis.hmac-secret-file", `is missing: name a file that holds 32 random bytes or more, or set EDGELIMIT_HMAC_SECRET`},
	{"secret-absent", "app.rate-limit.redis.hmac-secret-file", `cannot be read: file does not exist`},
	{"secret-short", "app.rate-limit.redis.hmac-secret-file", `has 31 bytes; it needs at least 32`},
	{"secret-huge", "app.rate-limit.redis.hmac-secret-file", `more than 65536 bytes`},
	{"password-absent", "app.rate-limit.redis.password-file", `cannot be read`},
	{"password-empty", "app.rate-limit.redis.password-file", `names an empty file`},
	{"username-alone", "app.rate-limit.redis.password-file", `cannot log in without a password`},
	{"username-twice", "app.rate-limit.redis.username", `differs from the user in app.rate-limit.redis.endpoint`},
	{"provider", "app.rate-limit.provider", `must be redis`},
	{"failure-policy", "app.rate-limit.failure-policy", `must be fail-closed`},
	{"default-policy", "app.rate-limit.default-policy", `names no policy of app.rate-limit.policies; it is "ap"`},
	{"policy-id-missing", "app.rate-limit.policies[0].id", `is missing`},
	{"policy-id", "app.rate-limit.policies[0].id", `must be 1 to 64 characters`},
	{"policy-id-twice", "app.rate-limit.policies[1].id", `is defined twice`},
	{"policy-revision-missing", "app.rate-limit.policies[0].revision", `is missing`},
	{"policy-revision", "app.rate-limit.policies[0].revision", `must be between 1 and 9007199254740991; it is 0`},
	{"policy-algorithm-missing", "app.rate-limit.policies[0].algorithm", `is missing: token-bucket, fixed-window or sliding-window-counter`},
	{"policy-algorithm", "app.rate-limit.policies[0].algorithm", `must be token-bucket or fixed-window or sliding-window-counter`},
	{"policy-foreign-limit", "app.rate-limit.policies[0].limit", `is not a parameter of token-bucket`},
	{"policy-foreign-capacity", "app.rate-limit.policies[0].capacity", `is not a parameter of fixed-window`},
	{"policy-limit-missing", "app.rate-limit.policies[0].limit", `is missing`},
	{"policy-limit-zero", "app.rate-limit.policies[0].limit", `must be between 1 and 9007199254740991; it is 0`},
	{"policy-limit-negative", "app.rate-limit.policies[0].limit", `it is -1`},
	{"policy-limit-beyond", "app.rate-limit.policies[0].limit", `must be at most 9007199254740991`},
	{"policy-window-missing", "app.rate-limit.policies[0].window", `is missing`},
	{"policy-window-zero", "app.rate-limit.policies[0].window", `must be between 1ms and 8784h0m0s; it is 0s`},
	{"policy-window-beyond", "app.rate-limit.policies[0].window", `must be at most 366 days`},
	{"policy-counter-limit", "app.rate-limit.policies[0].limit", `must be between 1 and 9007199254;`},
	{"policy-counter-window", "app.rate-limit.policies[0].window", `it is 2502h0m0s`},
	{"policy-capacity-zero", "app.rate-limit.policies[0].capacity", `it is 0`},
	{"policy-refill-zero", "app.rate-limit.policies[0].refill-tokens", `it is 0`},
	{"policy-refill-period-zero", "app.rate-limit.policies[0].refill-period", `it is 0s`},
	{"policy-refill-slow", "app.rate-limit.policies[0].refill-period", `takes more than 366 days`},
	{"policy-refill-inexact", "app.rate-limit.policies[0].refill-period", `leaves exact arithmetic`},
	{"policy-max-cost-zero", "app.rate-limit.policies[0].max-cost", `must be at least 1; it is 0`},
	{"policy-max-cost-beyond", "app.rate-limit.policies[0].max-cost", `must be at most 20, the capacity`},
	{"policy-grace-negative", "app.rate-limit.policies[0].cleanup-grace", `must not be negative`},
	{"policy-regression-without-unit", "app.rate-limit.policies[0].max-clock-regression", `needs a unit`},
	{"route-path-missing", "app.rate-limit.routes[0].path", `is missing`},
	{"route-path-relative", "app.rate-limit.routes[0].path", `must begin with /`},
	{"route-path-star", "app.rate-limit.routes[0].path", `a * only as the last part`},
	{"route-path-inner-star", "app.rate-limit.routes[0].path", `a * only as the last part`},
	{"route-path-unclean", "app.rate-limit.routes[0].path", `must be a clean path`},
	{"route-path-dots", "app.rate-limit.routes[0].path", `must be a clean path`},
	{"route-path-encoded", "app.rate-limit.routes[0].path", `must be a decoded path`},
	{"route-path-query", "app.rate-limit.routes[0].path", `without query`},
	{"route-method", "app.rate-limit.routes[0].methods[1]", `must be a method in upper case`},
	{"route-method-twice", "app.rate-limit.routes[0].methods[1]", `lists GET twice`},
	{"route-path-slash", "app.rate-limit.routes[0].path", `no slash at the end`},
	{"route-path-root", "app.rate-limit.routes[0].path", `must be a clean path`},
	{"route-policy-missing", "app.rate-limit.routes[0].policy", `is missing`},
	{"route-policy", "app.rate-limit.routes[0].policy", `names no policy`},
	{"route-cost-zero", "app.rate-limit.routes[0].cost", `must be at least 1; it is 0`},
	{"route-cost-beyond", "app.rate-limit.routes[0].cost", `must be at most 1, the max-cost of policy`},
	{"role", "app.rate-limit.redis.role", `must be coordination`},
	{"endpoint-scheme", "app.rate-limit.redis.endpoint", `must be redis://host:port/database`},
	{"endpoint-password", "app.rate-limit.redis.endpoint", `name its file in app.rate-limit.redis.password-file`},
	{"endpoint-broken-password", "app.rate-limit.redis.endpoint", `holds a password`},
	{"endpoint-query", "app.rate-limit.redis.endpoint", `must not have a query`},
	{"endpoint-database", "app.rate-limit.redis.endpoint", `must end with a database's number`},
	{"endpoint-port", "app.rate-limit.redis.endpoint", `must be redis://host:port/database`},
	{"key-prefix", "app.rate-limit.redis.key-prefix", `must be 1 to 32 characters`},
	{"dial-timeout", "app.rate-limit.redis.dial-timeout", `must be between 1ms and 1m0s`},
	{"command-timeout", "app.rate-limit.redis.command-timeout", `must be between 1ms and 10s; it is 11s`},
	{"admission-wait", "app.rate-limit.redis.admission-wait", `must be between 0s and 10s`},
	{"max-in-flight", "app.rate-limit.redis.max-in-flight", `must be between 1 and 100000; it is 0`},
	{"breaker-failures", "app.rate-limit.redis.breaker.failures", `it is 0`},
	{"breaker-probe", "app.rate-limit.redis.breaker.probe-every", `it is 0s`},
	{"denial-entries", "app.rate-limit.denial-cache.max-entries", `must be between 1 and 1000000; it is 0`},
	{"denial-entries-beyond", "app.rate-limit.denial-cache.max-entries", `must be between 1 and 1000000; it is 1000001`},
	{"denial-entries-missing", "app.rate-limit.denial-cache.max-entries", `is missing, and app.rate-limit.denial-cache.max-age is given`},
	{"denial-age", "app.rate-limit.denial-cache.max-age", `must be between 1ms and 10s; it is 0s`},
	{"denial-age-beyond", "app.rate-limit.denial-cache.max-age", `must be between 1ms and 10s; it is 10.001s`},
	{"inbound-unknown-key", "app.inbound-web.rate-limit.limit", `is not a key: app.inbound-web.rate-limit has mode, redis-url`},
	{"inbound-mode", "app.inbound-web.rate-limit.mode", `must be off or local or redis`},
	{"inbound-mode-boolean", "app.inbound-web.rate-limit.mode", `must be a string`},
	{"inbound-window-zero", "app.inbound-web.rate-limit.window", `must be between 1ms and 8784h0m0s; it is 0s`},
	{"inbound-window-inexact", "app.inbound-web.rate-limit.window", `whole number of milliseconds`},
	{"inbound-window-without-unit", "app.inbound-web.rate-limit.window", `needs a unit`},
	{"inbound-limit-missing", "app.inbound-web.rate-limit.limits.anonymous", `is missing, and mode is local: give it a number of 0 to 100000`},
	{"inbound-limit-negative", "app.inbound-web.rate-limit.limits.user", `must be between 0 and 100000; it is -1`},
	{"inbound-limit-beyond", "app.inbound-web.rate-limit.limits.tenant", `must be between 0 and 100000; it is 100001`},
	{"inbound-limit-quoted", "app.inbound-web.rate-limit.limits.key", `whole number in plain digits`},
	{"inbound-limits-as-number", "app.inbound-web.rate-limit.limits", `must be a section with the keys tenant, user, key, anonymous`},
	{"inbound-redis-missing", "app.inbound-web.rate-limit.redis-url", `is missing, and mode is redis`},
	{"inbound-redis-scheme", "app.inbound-web.rate-limit.redis-url", `must be redis://host:port/database`},
	{"inbound-redis-password", "app.inbound-web.rate-limit.redis-url", `holds a password: take it out, or give the whole URL by the environment, as REDIS_URL`},
	{"inbound-redis-user-alone", "app.inbound-web.rate-limit.redis-url", `names a user without a password`},
	{"inbound-secret-missing", "app.inbound-web.rate-limit.hmac-secret-file", `is missing: name a file that holds 32 random bytes or more, or set EDGELIMIT_HMAC_SECRET`},
	{"inbound-secret-absent", "app.inbound-web.rate-limit.hmac-secret-file", `cannot be read: file does not exist`},
	{"inbound-secret-short", "app.inbound-web.rate-limit.hmac-secret-file", `has 31 bytes; it needs at least 32`},
	{"inbound-outage-policy", "app.inbound-web.rate-limit.outage-policy", `must be local-fallback or fail-closed`},
	{"inbound-replicas-zero", "app.inbound-web.rate-limit.replicas", `must be between 1 and 100000; it is 0`},
	{"inbound-replicas-local", "app.inbound-web.rate-limit.replicas", `is 2, and in mode local each counts alone: write mode: redis, or accept-per-replica-limits: true`},
	{"inbound-accept-quoted", "app.inbound-web.rate-limit.accept-per-replica-limits", `must be true or false`},
	{"inbound-command-timeout", "app.inbound-web.rate-limit.command-timeout", `must be between 1ms and 10s; it is 11s`},
	{"inbound-preflight", "app.inbound-web.rate-limit.preflight", `must be exempt or count`},
	{"tenants-as-list", "app.inbound-web.rate-limit.tenants", `must be a section whose keys are ids; it is a list`},
	{"tenants-null", "app.inbound-web.rate-limit.tenants", `is null`},
	{"tenant-as-number", "app.inbound-web.rate-limit.tenants.acme", `must be a section with the keys tenant, user, key; it is`},
	{"tenant-null", "app.inbound-web.rate-limit.tenants.acme", `is null`},
	{"tenant-twice", "app.inbound-web.rate-limit.tenants.acme", `is given twice`},
	{"tenant-anonymous", "app.inbound-web.rate-limit.tenants.acme.anonymous", `is not a key: app.inbound-web.rate-limit.tenants.acme has tenant, user, key`},
	{"tenant-limit", "app.inbound-web.rate-limit.tenants.acme.user", `must be between 0 and 100000; it is 100001`},
	{"tenant-limit-dotted", `app.inbound-web.rate-limit.tenants."Acme.eu-1".user`, `whole number in plain digits`},
	{"tenant-id-empty", `app.inbound-web.rate-limit.tenants.""`, `must have 1 to 256 bytes in its percent-encoded form`},
	{"tenant-id-long", `app.inbound-web.rate-limit.tenants."éééééééééééééééééééééééééééééééé..."`, `must have 1 to 256 bytes in its percent-encoded form`},
	{"tenant-id-number", "app.inbound-web.rate-limit.tenants.7", `is an id, which must be a string: put it in quotes`},
	{"tenant-id-list", "app.inbound-web.rate-limit.tenants.?", `a key that is not a word`},
	{"identity-without-tenant", "app.inbound-web.identity.tenant-header", `is missing, and app.inbound-web.identity.key-header is given`},
	{"identity-header-form", "app.inbound-web.identity.user-header", `must be a header's name of at most 64 characters, as in X-User-Id`},
	{"identity-header-reserved", "app.inbound-web.identity.key-header", `must not be Authorization`},
	{"identity-header-twice", "app.inbound-web.identity.key-header", `X_user_id is the header of app.inbound-web.identity.user-header too`},
	{"identity-header-subject", "app.inbound-web.identity.tenant-header", `X-Client-Id is the header of app.gateway.subject.header too`},
	{"cache-role", "app.cache.redis.role", `must be cache`},
	{"cache-key-prefix", "app.cache.redis.key-prefix", `must be 1 to 32 characters`},
	{"cache-dial-timeout", "app.cache.redis.dial-timeout", `must be between 1ms and 1m0s; it is 0s`},
	{"cache-command-timeout", "app.cache.redis.command-timeout", `must be between 1ms and 10s`},
	{"cache-max-connections", "app.cache.redis.max-connections", `must be between 1 and 10000; it is 0`},
	{"cache-endpoint-scheme", "app.cache.redis.endpoint", `must be redis://host:port/database`},
	{"cache-endpoint-password", "app.cache.redis.endpoint", `holds a password: take it out and name its file in app.cache.redis.password-file`},
	{"cache-without-role", "app.cache.redis.role", `is missing, and app.cache.redis.enabled is true: write role: cache`},
	{"cache-without-endpoint", "app.cache.redis.endpoint", `is missing, and app.cache.redis.enabled is true`},
	{"cache-without-secret", "app.cache.redis.hmac-secret-file", `is missing: name a file`},
	{"cache-without-password", "app.cache.redis.password-file", `is missing: a user cannot log in without a password`},
	{"cache-is-coordination", "app.cache.redis.endpoint", `is app.rate-limit.redis.endpoint: a cache needs a Redis of its own`},
	{"cache-is-coordination-dotted", "app.cache.redis.endpoint", `is app.rate-limit.redis.endpoint: a cache needs a Redis of its own`},
	{"cache-is-inbound", "app.cache.redis.endpoint", `is the server of app.inbound-web.rate-limit.redis-url, in whatever database`},
	{"cache-is-inbound-dotted", "app.cache.redis.endpoint", `is the server of app.inbound-web.rate-limit.redis-url, in whatever database`},
	{"source-scheme", "app.inbound-web.limits-source.url", `must be an https URL with a host`},
	{"source-plain", "app.inbound-web.limits-source.url", `must be https, unless its host is on loopback`},
	{"source-password", "app.inbound-web.limits-source.url", `must not hold a user or a password`},
	{"source-fragment", "app.inbound-web.limits-source.url", `must not have a fragment`},
	{"source-query", "app.inbound-web.limits-source.url", `must have a query of name=value pairs`},
	{"source-query-semicolon", "app.inbound-web.limits-source.url", `must have a query of name=value pairs`},
	{"source-tenant", "app.inbound-web.limits-source.url", `must not have tenant in its query`},
	{"source-ttl", "app.inbound-web.limits-source.ttl", `must be between 1s and 24h0m0s; it is 999ms`},
	{"source-timeout", "app.inbound-web.limits-source.timeout", `must be between 1ms and 10s; it is 0s`},
	{"source-token", "app.inbound-web.limits-source.token-file", `names a file that holds no bearer token`},
	{"source-token-absent", "app.inbound-web.limits-source.token-file", `cannot be read: file does not exist`},
}

func TestLoad_oneFaultIsOneProblem(t *testing.T) {
	for _, row := range faulty {
		t.Run(row.file, func(t *testing.T) {
			name := "bad-" + row.file + ".yaml"
			content, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			got, report := config.Load(config.Sources{File: content, FileName: name, ReadFile: files})
			if len(report.Problems) != 1 {
				t.Fatalf("got %d problems, want 1:\n%v", len(report.Problems), report.Err())
			}
			p := report.Problems[0]
			if p.Key != row.key || !strings.Contains(p.Message, row.message) {
				t.Errorf("got %s: %s\nwant %s: %s", p.Key, p.Message, row.key, row.message)
			}
			if !strings.HasPrefix(p.Where, name) {
				t.Errorf("got place %q, want one in %s", p.Where, name)
			}
			if strings.Contains(report.Err().Error(), "hunter2") {
				t.Errorf("the problem repeats the password: %v", report.Err())
			}
			if !reflect.ValueOf(got).IsZero() {
				t.Errorf("got a configuration beside the problem: %+v", got)
			}
		})
	}
}

func TestLoad_everyFaultyFileHasARow(t *testing.T) {
	found, err := filepath.Glob("testdata/bad-*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != len(faulty) {
		t.Errorf("got %d files and %d rows", len(found), len(faulty))
	}
}
