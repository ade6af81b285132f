package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// helloOf is a server's answer to HELLO that tells this version.
func helloOf(version string) []byte {
	return fmt.Appendf(nil, "*6\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$%d\r\n%s\r\n$4\r\nrole\r\n$6\r\nmaster\r\n", len(version), version)
}

func TestRedis_thatIsTooOldIsRefusedInWords(t *testing.T) {
	t.Parallel()
	link := redistest.NewLink(t, redistest.Start(t).Addr())
	link.Fault("HELLO", -1, redistest.Replace(helloOf("6.2.14")))
	said := refused(t, limiting(t, link.Addr(), "", fixedWindow("api", 5)), 1)
	if !strings.Contains(said, "version 6.2") || !strings.Contains(said, "7.0 or newer") {
		t.Errorf("got %q, want both versions", said)
	}
}

func TestRedis_thatStillLoadsIsAwaitedAndNotRefused(t *testing.T) {
	t.Parallel()
	link := redistest.NewLink(t, redistest.Start(t).Addr())
	link.Fault("EVAL", -1, redistest.Replace([]byte("-LOADING Redis is loading the dataset in memory\r\n")))
	p := serve(t, limiting(t, link.Addr(), "", fixedWindow("api", 5)))
	ask := "http://" + p.listen + authorizePath
	get(t, ask).must(t, http.StatusServiceUnavailable).problem(t, "unavailable").says(t, "Retry-After: 1")
	if got := get(t, "http://"+p.admin+"/readyz").must(t, http.StatusServiceUnavailable); !strings.Contains(got.body, "LOADING") {
		t.Errorf("readiness does not say why: %s", got.body)
	}
	if n := link.Forwarded("EVALSHA"); n != 0 {
		t.Errorf("%d evaluations were sent to a server that has not passed", n)
	}
	link.Heal()
	eventually(t, "answer from Redis", func() bool { return get(t, ask).status == http.StatusOK })
	within(t, back, "readiness", func() bool { return p.readiness(t) == http.StatusOK })
}

func TestRedis_thatMayEvictIsReadyWithAWarning(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru")
	p := serve(t, limiting(t, server.Addr(), "", fixedWindow("api", 5)))
	eventually(t, "readiness", func() bool { return p.readiness(t) == http.StatusOK })
	if got := get(t, "http://"+p.admin+"/readyz"); !strings.Contains(got.body, "maxmemory-policy is allkeys-lru") {
		t.Errorf("readiness says %s, want a warning of eviction", got.body)
	}
}

func TestRedis_withOnePasswordForEverybody(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--requirepass", aclPassword)
	s := limiting(t, server.Addr(), "", fixedWindow("api", 5))
	p := serve(t, s.with("app.rate-limit.redis.password-file", secretFile(t, aclPassword)))
	get(t, "http://"+p.listen+authorizePath).must(t, http.StatusOK)
	if said := refused(t, s, 1); !strings.Contains(said, "NOAUTH") {
		t.Errorf("got %q without a password, want NOAUTH", said)
	}
}

func TestRedis_thatLosesItsScriptsIsGivenThemAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := serve(t, limiting(t, server.Addr(), "", fixedWindow("api", 50)))
	for i := range 10 {
		server.Do(t, "SCRIPT", "FLUSH")
		get(t, "http://"+p.listen+authorizePath).must(t, http.StatusOK).says(t, "X-RateLimit-Remaining: "+numeral(49-i))
	}
}

func TestRedis_inAnotherDatabaseKeepsItsKeysThere(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := serve(t, limiting(t, server.Addr(), "", fixedWindow("api", 5)).
		with("app.rate-limit.redis.endpoint", "redis://"+server.Addr()+"/3").
		with("app.rate-limit.redis.key-prefix", "shop"))
	get(t, "http://"+p.listen+authorizePath).must(t, http.StatusOK)
	if keys := keysOf(t, server); len(keys) != 0 {
		t.Errorf("database 0 holds %q", keys)
	}
	if info, _ := server.Do(t, "INFO", "keyspace").(string); !strings.Contains(info, "db3:") {
		t.Errorf("got %q, want keys in database 3", info)
	}
}
