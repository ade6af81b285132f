package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// refused runs serve with a configuration that must stop it, and returns what it
// said.
func refused(t *testing.T, s settings, code int, environ ...string) string {
	t.Helper()
	p := start(t, environ, "serve", "--config", s.file(t))
	if got := p.exit(t); got != code {
		t.Errorf("got exit code %d, want %d", got, code)
	}
	if strings.Contains(p.stderr.String(), "serving") {
		t.Error("it served")
	}
	return p.stderr.String()
}

// unreached is an endpoint of a configuration that is refused before anything is
// dialed.
const unreached = "127.0.0.1:1"

func TestStart_enabledWithSomethingMissing_namesTheKey(t *testing.T) {
	t.Parallel()
	whole := limiting(t, unreached, "http://127.0.0.1:1", fixedWindow("api", 1))
	for _, key := range []string{
		"app.rate-limit.provider",
		"app.rate-limit.failure-policy",
		"app.rate-limit.default-policy",
		"app.rate-limit.policies",
		"app.rate-limit.redis.role",
		"app.rate-limit.redis.endpoint",
		"app.rate-limit.redis.hmac-secret-file",
	} {
		t.Run(key, func(t *testing.T) {
			if said := refused(t, whole.without(key), 2); !strings.Contains(said, key+" ") {
				t.Errorf("got %q, want it to name %s", said, key)
			}
		})
	}
}

func TestStart_aMistakeIsNamedByItsKey(t *testing.T) {
	t.Parallel()
	whole := limiting(t, unreached, "http://127.0.0.1:1", fixedWindow("api", 1))
	for _, row := range []struct {
		sentence, key string
		value         any
		names         string
	}{
		{"an unknown key", "app.rate-limit.redis.endpiont", "redis://127.0.0.1:1", "app.rate-limit.redis.endpiont"},
		{"a duration without a unit", "app.rate-limit.redis.command-timeout", "50", "app.rate-limit.redis.command-timeout"},
		{"a number that is a word", "app.rate-limit.redis.max-in-flight", "many", "app.rate-limit.redis.max-in-flight"},
		{"a fraction where an integer belongs", "app.rate-limit.redis.max-in-flight", 1.5, "app.rate-limit.redis.max-in-flight"},
		{"a default policy that is not defined", "app.rate-limit.default-policy", "ghost", "app.rate-limit.default-policy"},
		{"a route to a policy that is not defined", "app.rate-limit.routes", []route{{"path": "/x", "policy": "ghost"}}, "app.rate-limit.routes[0].policy"},
		{"a failure policy that lets through", "app.rate-limit.failure-policy", "fail-open", "app.rate-limit.failure-policy"},
		{"an admin listener for everybody without a token", "app.server.admin-listen", "0.0.0.0:0", "app.server.admin-token-file"},
		{"a secret that is too short", "app.rate-limit.redis.hmac-secret-file", secretFile(t, strings.Repeat("s", 31)), "app.rate-limit.redis.hmac-secret-file"},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			if said := refused(t, whole.with(row.key, row.value), 2); !strings.Contains(said, row.names) {
				t.Errorf("got %q, want it to name %s", said, row.names)
			}
		})
	}
	t.Run("an unknown variable of the program's own", func(t *testing.T) {
		if said := refused(t, whole, 2, "EDGELIMIT_APP__RATE_LIMIT__ENABELD=true"); !strings.Contains(said, "EDGELIMIT_APP__RATE_LIMIT__ENABELD") {
			t.Errorf("got %q, want it to name the variable", said)
		}
	})
	t.Run("a password in the file's endpoint, which is not repeated", func(t *testing.T) {
		said := refused(t, whole.with("app.rate-limit.redis.endpoint", "redis://someone:planted-password@127.0.0.1:1/0"), 2)
		if !strings.Contains(said, "app.rate-limit.redis.endpoint") || strings.Contains(said, "planted-password") {
			t.Errorf("got %q, want it to name the key and not the password", said)
		}
	})
	t.Run("a password in a broken endpoint of the environment, which is not repeated", func(t *testing.T) {
		said := refused(t, whole.without("app.rate-limit.redis.endpoint"), 2,
			"EDGELIMIT_APP__RATE_LIMIT__REDIS__ENDPOINT=redis://someone:planted%zzpassword@127.0.0.1:port/0")
		if !strings.Contains(said, "app.rate-limit.redis.endpoint") || strings.Contains(said, "planted") {
			t.Errorf("got %q, want it to name the key and not the password", said)
		}
	})
	t.Run("no configuration at all", func(t *testing.T) {
		p := start(t, nil, "serve")
		if code := p.exit(t); code != 2 || !strings.Contains(p.stderr.String(), "--config") {
			t.Errorf("got exit code %d and %q, want 2 and what is missing", code, p.stderr.String())
		}
	})
}

func TestStart_aPortThatIsTaken_isNamed(t *testing.T) {
	t.Parallel()
	taken := newUpstream(t).Listener.Addr().String()
	for _, key := range []string{"app.server.listen", "app.server.admin-listen"} {
		s := settings{"app.server.listen": "127.0.0.1:0", "app.server.admin-listen": "127.0.0.1:0"}.with(key, taken)
		if said := refused(t, s, 1); !strings.Contains(said, key) || !strings.Contains(said, taken) {
			t.Errorf("got %q, want it to name %s and %s", said, key, taken)
		}
	}
}

func TestCheck_listsEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	wrong := limiting(t, unreached, "ftp://127.0.0.1", fixedWindow("api", 0)).
		without("app.rate-limit.provider").
		with("app.rate-limit.redis.dial-timeout", "1").
		with("app.rate-limit.no-such-key", true).
		with("app.rate-limit.routes", []route{{"path": "search", "policy": "api"}, {"path": "/x", "policy": "ghost"}})
	p := start(t, nil, "check", "--config", wrong.file(t))
	if code := p.exit(t); code != 2 {
		t.Errorf("got exit code %d, want 2", code)
	}
	for _, key := range []string{
		"app.gateway.upstream", "app.rate-limit.policies[0].limit", "app.rate-limit.provider", "app.rate-limit.redis.dial-timeout",
		"app.rate-limit.no-such-key", "app.rate-limit.routes[0].path", "app.rate-limit.routes[1].policy",
	} {
		if !strings.Contains(p.stderr.String(), key) {
			t.Errorf("%s is not named", key)
		}
	}
	if p.stdout.String() != "" {
		t.Errorf("it says %q of a config that is wrong", p.stdout.String())
	}
}

func TestCheck_saysWhatIsUnwiseAndWhatSubjectsCost(t *testing.T) {
	t.Parallel()
	unwise := fixedWindow("api", 10)
	unwise["window"], unwise["cleanup-grace"], unwise["max-clock-regression"] = "1m", "1s", "2s"
	legal := limiting(t, unreached, "http://127.0.0.1:1", unwise, slidingCounter("months", 5)).
		with("app.rate-limit.routes", []route{{"path": "/x/*", "policy": "months"}})
	p := start(t, nil, "check", "--config", legal.file(t))
	if code := p.exit(t); code != 0 {
		t.Errorf("got exit code %d, want 0", code)
	}
	for _, want := range []string{
		"warning: app.rate-limit.policies[0].cleanup-grace ", "warning: app.rate-limit.policies[1] ",
		"policy api revision 1: fixed-window of 10, state lives up to 1m3s, about ",
		"policy months revision 1: sliding-window-counter of 5, state lives up to 4800h0m32s, about ",
		" bytes a subject, the default\n", "rate limiting is on, at redis://127.0.0.1:1/0\n",
	} {
		if !strings.Contains(p.stdout.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, p.stdout.String())
		}
	}
	if p.stderr.String() != "" {
		t.Errorf("it complains about a legal config: %q", p.stderr.String())
	}
}

// limiterRights are all commands that the program needs of Redis.
var limiterRights = []string{"time", "type", "hgetall", "hset", "pexpire", "eval", "evalsha"}

const aclPassword = "planted-acl-password-0123456789"

// grant makes the user limiter with these rights and no other.
func grant(t *testing.T, s *redistest.Server, rights ...string) {
	t.Helper()
	rules := []string{"ACL", "SETUSER", "limiter", "reset", "on", ">" + aclPassword, "~edgelimit:*"}
	for _, right := range rights {
		rules = append(rules, "+"+right)
	}
	if got := s.Do(t, rules...); got != "OK" {
		t.Fatalf("ACL SETUSER: %v", got)
	}
}

func TestStart_aRedisUserWithOneRightLess_isRefusedByItsName(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := limiting(t, server.Addr(), "", fixedWindow("api", 5)).
		with("app.rate-limit.redis.username", "limiter").
		with("app.rate-limit.redis.password-file", secretFile(t, aclPassword))
	for i, missing := range limiterRights {
		t.Run(missing, func(t *testing.T) {
			rest := append(append([]string{}, limiterRights[:i]...), limiterRights[i+1:]...)
			grant(t, server, rest...)
			said := refused(t, s, 1)
			if !strings.Contains(said, fmt.Sprintf("may not run %s ", strings.ToUpper(missing))) || strings.Contains(said, aclPassword) {
				t.Errorf("got %q, want it to name %s and no password", said, strings.ToUpper(missing))
			}
		})
	}
	for _, key := range keysOf(t, server) {
		if server.Do(t, "PTTL", key) == int64(-1) {
			t.Errorf("a refused start left %s without a lifetime", key)
		}
	}
	t.Run("a user of other keys", func(t *testing.T) {
		grant(t, server, limiterRights...)
		if said := refused(t, s.with("app.rate-limit.redis.key-prefix", "elsewhere"), 1); !strings.Contains(said, "elsewhere:*") {
			t.Errorf("got %q, want it to name the keys", said)
		}
	})
	t.Run("a wrong password", func(t *testing.T) {
		wrong := s.with("app.rate-limit.redis.password-file", secretFile(t, "wrong-"+aclPassword))
		if said := refused(t, wrong, 1); !strings.Contains(said, "WRONGPASS") || strings.Contains(said, aclPassword) {
			t.Errorf("got %q, want WRONGPASS and no password", said)
		}
	})
}

func TestStart_aRedisUserWithTheRightsAlone_isEnough(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	grant(t, server, limiterRights...)
	byFile := limiting(t, server.Addr(), "", fixedWindow("api", 5)).
		with("app.rate-limit.redis.username", "limiter").
		with("app.rate-limit.redis.password-file", secretFile(t, aclPassword))
	byVariable := limiting(t, server.Addr(), "", fixedWindow("api", 5)).without("app.rate-limit.redis.endpoint")
	for _, row := range []struct {
		sentence string
		settings settings
		environ  []string
	}{
		{"with the password in a file", byFile, nil},
		{"with the password in the environment's endpoint", byVariable,
			[]string{"EDGELIMIT_APP__RATE_LIMIT__REDIS__ENDPOINT=redis://limiter:" + aclPassword + "@" + server.Addr() + "/0"}},
	} {
		t.Run(row.sentence, func(t *testing.T) {
			p := serve(t, row.settings, row.environ...)
			get(t, "http://"+p.listen+"/v1/rate-limit/authorize").must(t, http.StatusOK)
			eventually(t, "readiness", func() bool { return get(t, "http://"+p.admin+"/readyz").status == http.StatusOK })
			ready := get(t, "http://"+p.admin+"/readyz")
			if !strings.Contains(ready.body, "eviction policy cannot be read") {
				t.Errorf("readiness does not say what a user without INFO hides: %s", ready.body)
			}
			if said := ready.body + p.stdout.String() + p.stderr.String(); strings.Contains(said, aclPassword) {
				t.Error("the password was printed")
			}
		})
	}
}
