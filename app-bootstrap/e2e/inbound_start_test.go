package e2e_test

import (
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// bystander is an endpoint that is configured and must never be dialed. What is
// returned checks that, once the process has gone.
func bystander(t *testing.T) (addr string, undisturbed func()) {
	t.Helper()
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	return socket.Addr().String(), func() {
		t.Helper()
		_ = socket.(*net.TCPListener).SetDeadline(time.Now().Add(50 * time.Millisecond))
		if conn, err := socket.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the configured endpoint saw a connection: %v, %v", conn, err)
		}
	}
}

func (p *process) stop(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGTERM)
	if code := p.exit(t); code != 0 {
		t.Errorf("got exit code %d, want 0", code)
	}
}

func TestInbound_offIsAbsent(t *testing.T) {
	t.Parallel()
	redis, undisturbed := bystander(t)
	behind := newUpstream(t)
	// Off is the default: the key is not even there.
	p := serve(t, inboundWeb(t, redis, behind.URL).without("app.inbound-web.rate-limit.mode"), "REDIS_URL=redis://"+redis)
	for range 10 {
		got := get(t, "http://"+p.listen+"/own-headers", user("acme", "ann")...).must(t, http.StatusOK)
		if values := got.header.Values("X-RateLimit-Limit"); len(values) != 2 || values[0] != "777" {
			t.Errorf("X-RateLimit-Limit: got %q, want the upstream's own", values)
		}
	}
	for _, header := range refusedAnywhere {
		get(t, "http://"+p.listen+"/", header).must(t, http.StatusOK).uncounted(t)
	}
	metrics := get(t, "http://"+p.admin+"/metrics").must(t, http.StatusOK).body
	if strings.Contains(metrics, "hermes_") || strings.Contains(metrics, "edgelimit_") {
		t.Error("there are metrics of a limiter that is off")
	}
	if ready := get(t, "http://"+p.admin+"/readyz").must(t, http.StatusOK); strings.Contains(ready.body, "inboundWeb") {
		t.Errorf("readiness tells of a limiter that is off: %s", ready.body)
	}
	p.stop(t)
	undisturbed()
}

// refusedAnywhere are headers by which nobody can be limited.
var refusedAnywhere = []string{"X-User-Id: ann", "X-Tenant-Id: " + strings.Repeat("n", 257)}

func TestInbound_modeLocalNeedsNobody(t *testing.T) {
	t.Parallel()
	redis, undisturbed := bystander(t)
	behind := newUpstream(t)
	local := inboundWeb(t, redis, behind.URL).inbound("mode", "local").without("app.inbound-web.rate-limit.hmac-secret-file")
	said := refused(t, local.inbound("replicas", 2), 2)
	if !strings.Contains(said, "app.inbound-web.rate-limit.replicas") || !strings.Contains(said, "accept-per-replica-limits") {
		t.Errorf("got %q, want it to name the key and the way out", said)
	}
	p := serve(t, local.inbound("replicas", 2).inbound("accept-per-replica-limits", true), "REDIS_URL=redis://"+redis)
	for _, row := range []struct {
		headers                  []string
		status, limit, remaining int
	}{
		{user("acme", "ann"), http.StatusOK, 3, 2},
		{user("acme", "ann"), http.StatusOK, 3, 1},
		{user("acme", "ann"), http.StatusOK, 3, 0},
		{user("acme", "ann"), http.StatusTooManyRequests, 3, 0},
		{apiKey("acme", "k1"), http.StatusOK, 2, 1},
		{tenant("acme"), http.StatusOK, 5, 0},
		{user("acme", "bob"), http.StatusTooManyRequests, 5, 0},
		{address("203.0.113.5"), http.StatusOK, 2, 1},
	} {
		get(t, "http://"+p.listen+"/", row.headers...).must(t, row.status).counts(t, row.limit, row.remaining).says(t, "X-RateLimit-Source")
	}
	for _, header := range refusedAnywhere {
		get(t, "http://"+p.listen+"/", header).must(t, http.StatusBadRequest).problem(t, "").uncounted(t)
	}
	if got := p.samples(t, rejections); len(got) != 2 || got[`{layer="user",tenant_id="acme"}`] != "1" || got[`{layer="tenant",tenant_id="acme"}`] != "1" {
		t.Errorf("got the rejections %v, want one of the user and one of the tenant", got)
	}
	if n := p.total(t, fallbacks); n != 0 {
		t.Errorf("%d fallbacks are counted of a limiter that has none", n)
	}
	if p.readiness(t) != http.StatusOK || p.logged("serving")["inbound-web"] != "local" {
		t.Errorf("readiness is %d, and the log says %v; want 200, local", p.readiness(t), p.logged("serving"))
	}
	p.stop(t)
	undisturbed()
}

// logRights are all commands that the inbound-web limiter needs of Redis.
var logRights = []string{"time", "type", "zadd", "zrange", "zcount", "zremrangebyscore", "pexpire", "eval", "evalsha"}

func TestInbound_theEnvironmentsRedisWinsAndItsPasswordIsNotPrinted(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	other, undisturbed := bystander(t)
	rules := []string{"ACL", "SETUSER", "limiter", "reset", "on", ">" + aclPassword, "~rl:*"}
	for _, right := range logRights {
		rules = append(rules, "+"+right)
	}
	if got := server.Do(t, rules...); got != "OK" {
		t.Fatalf("ACL SETUSER: %v", got)
	}
	s := inboundWeb(t, other, behind.URL)
	p := serve(t, s, "REDIS_URL=redis://limiter:"+aclPassword+"@"+server.Addr()+"/0")
	get(t, "http://"+p.listen+"/", user("acme", "ann")...).must(t, http.StatusOK).counts(t, 3, 2).says(t, "X-RateLimit-Source")
	if n := counted(t, server, "rl:{acme}:user:ann"); n != 1 {
		t.Errorf("the environment's Redis counts %d requests, want 1", n)
	}
	eventually(t, "inbound-web Redis", func() bool { return p.inboundReady(t) })
	ready := get(t, "http://"+p.admin+"/readyz").must(t, http.StatusOK)
	if detail, _ := ready.object(t)["inboundWeb"].(map[string]any); detail["endpoint"] != "redis://"+server.Addr()+"/0" {
		t.Errorf("readiness says %s, want the environment's endpoint without user and password", ready.body)
	}
	checked := start(t, []string{"REDIS_URL=rediss://limiter:" + aclPassword + "@" + server.Addr() + "/7"}, "check", "--config", s.file(t))
	if code := checked.exit(t); code != 0 || !strings.Contains(checked.stdout.String(), "the inbound-web limiter is in mode redis, at rediss://"+server.Addr()+"/7\n") {
		t.Errorf("got exit code %d and %q, want where the limiter counts", code, checked.stdout.String())
	}
	metrics := get(t, "http://"+p.admin+"/metrics").must(t, http.StatusOK).body

	wrong := refused(t, s, 1, "REDIS_URL=redis://limiter:wrong-"+aclPassword+"@"+server.Addr())
	if !strings.Contains(wrong, "app.inbound-web.rate-limit.redis-url") || !strings.Contains(wrong, "WRONGPASS") {
		t.Errorf("got %q of a wrong password, want the key and the server's word", wrong)
	}
	inFile := refused(t, s.inbound("redis-url", "redis://limiter:"+aclPassword+"@"+server.Addr()), 2)
	if !strings.Contains(inFile, "app.inbound-web.rate-limit.redis-url") || !strings.Contains(inFile, "REDIS_URL") {
		t.Errorf("got %q of a password in the file, want the key and the variable", inFile)
	}
	broken := refused(t, s, 2, "REDIS_URL=redis://limiter:"+aclPassword+"@"+server.Addr()+"/x")
	if !strings.Contains(broken, "app.inbound-web.rate-limit.redis-url (REDIS_URL)") {
		t.Errorf("got %q, want the key and the variable", broken)
	}
	p.stop(t)
	undisturbed()
	said := ready.body + metrics + wrong + inFile + broken
	for _, of := range []*process{p, checked} {
		said += of.stdout.String() + of.stderr.String()
	}
	if strings.Contains(said, aclPassword) || strings.Contains(said, hmacSecret) {
		t.Error("a password or the secret was printed")
	}
}

func TestInbound_everyMistakeIsNamedByItsKey(t *testing.T) {
	t.Parallel()
	wrong := inboundWeb(t, "127.0.0.1:1", "http://127.0.0.1:1").
		with("app.inbound-web.identity", map[string]string{"tenant-header": "X-Id", "user-header": "x_id", "key-header": "Cookie"}).
		inbound("redis-url", "http://127.0.0.1:1").
		inbound("hmac-secret-file", secretFile(t, strings.Repeat("s", 31))).
		inbound("window", "60").
		inbound("limits", map[string]any{"tenant": -1, "user": 100_001, "key": 1.5}).
		inbound("tenants", map[string]any{"acme": map[string]any{"user": "many"}, "shop.example": map[string]any{"limit": 1}}).
		inbound("outage-policy", "fail-open").
		inbound("replicas", 0).
		inbound("accept-per-replica-limits", "yes").
		inbound("command-timeout", "1m").
		inbound("preflight", "skip").
		inbound("fallback", true)
	said := refused(t, wrong, 2)
	for _, key := range []string{
		"app.inbound-web.identity.user-header", "app.inbound-web.identity.key-header",
		"app.inbound-web.rate-limit.redis-url", "app.inbound-web.rate-limit.hmac-secret-file", "app.inbound-web.rate-limit.window",
		"app.inbound-web.rate-limit.limits.tenant", "app.inbound-web.rate-limit.limits.user", "app.inbound-web.rate-limit.limits.key",
		"app.inbound-web.rate-limit.limits.anonymous", "app.inbound-web.rate-limit.tenants.acme.user",
		`app.inbound-web.rate-limit.tenants."shop.example".limit`, "app.inbound-web.rate-limit.outage-policy",
		"app.inbound-web.rate-limit.replicas", "app.inbound-web.rate-limit.accept-per-replica-limits",
		"app.inbound-web.rate-limit.command-timeout", "app.inbound-web.rate-limit.preflight", "app.inbound-web.rate-limit.fallback",
	} {
		if strings.Count(said, "error: "+key+" ") != 1 {
			t.Errorf("%s is not named once in:\n%s", key, said)
		}
	}
	if lines := strings.Count(said, "\n"); lines != 17 {
		t.Errorf("it says %d lines, want one a mistake:\n%s", lines, said)
	}
	if modeless := refused(t, inboundWeb(t, "127.0.0.1:1", "http://127.0.0.1:1").inbound("mode", "cache"), 2); !strings.Contains(modeless, "app.inbound-web.rate-limit.mode ") {
		t.Errorf("got %q, want the mode", modeless)
	}
}
