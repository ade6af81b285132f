package e2e_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

func TestInbound_anUntrustedPeerIsItsAddressWhateverItClaims(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	claims := []string{"X-Tenant-Id: acme", "X-User-Id: ann", "X-Key-Id: k1", "X_Tenant_Id: acme", "x-user_id: ann", "X-Kept: yes"}
	names := []string{"X-Tenant-Id", "X-User-Id", "X-Key-Id", "X_tenant_id", "X-User_id"}
	for _, header := range claims {
		if name, _, _ := strings.Cut(header, ":"); name != "X-Kept" && !slices.Contains(names, http.CanonicalHeaderKey(name)) {
			t.Fatalf("%s is not looked for", name)
		}
	}
	s := inboundWeb(t, server.Addr(), behind.URL).inbound("limits", map[string]int{"tenant": 50, "user": 30, "key": 20, "anonymous": 100})
	strange := s.with("app.server.trusted-proxies", []string{strangeProxy})

	p := serve(t, strange)
	for i, headers := range [][]string{
		claims,
		{"X-User-Id: ann"},
		{"X-Tenant-Id: acme", "X-Tenant-Id: globex"},
		{"X-Tenant-Id: " + strings.Repeat("n", 300)},
		append(claims, "X-Forwarded-For: 203.0.113.5"),
	} {
		get(t, "http://"+p.listen+"/", headers...).must(t, http.StatusOK).counts(t, 100, 99-i)
		for _, name := range names {
			if got := behind.last(t).header[name]; got != nil {
				t.Errorf("%s: the upstream got %q of a stranger", name, got)
			}
		}
	}
	if keys := logsOf(t, server); len(keys) != 1 || !strings.HasPrefix(keys[0], "rl:anon:") {
		t.Errorf("got the keys %q, want one address", keys)
	}
	off := serve(t, strange.inbound("mode", "off"))
	get(t, "http://"+off.listen+"/", claims...).must(t, http.StatusOK).uncounted(t)
	for _, name := range names {
		if got := behind.last(t).header[name]; got != nil {
			t.Errorf("off: %s: the upstream got %q of a stranger", name, got)
		}
	}
	if got := behind.last(t).header.Get("X-Kept"); got != "yes" {
		t.Errorf("X-Kept: got %q, want what nobody claims by", got)
	}

	trusting := serve(t, s)
	get(t, "http://"+trusting.listen+"/", claims...).must(t, http.StatusOK).counts(t, 30, 29)
	for name, want := range map[string]string{"X-Tenant-Id": "acme", "X-User-Id": "ann", "X-Key-Id": "k1"} {
		if got := behind.last(t).header.Values(name); len(got) != 1 || got[0] != want {
			t.Errorf("%s: the upstream got %q of a trusted proxy, want %q", name, got, want)
		}
	}
}

func TestInbound_addressesAreDigestsAndIDsAreReadable(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	s := inboundWeb(t, server.Addr(), behind.URL)
	p, replica := serve(t, s), serve(t, s)
	var shown strings.Builder
	note := func(r reply) reply {
		shown.WriteString(r.body)
		for name, values := range r.header {
			shown.WriteString(name + ": " + strings.Join(values, ",") + "\n")
		}
		return r
	}
	traffic := func() {
		for range 4 { // allowed, then denied
			for _, who := range [][]string{address("203.0.113.77"), address("2001:db8:77::77"), user("readable-tenant", "readable-user"), {"X-Key-Id: planted-key"}} {
				note(get(t, "http://"+p.listen+"/planted-path?planted-query", append(who, "Authorization: Bearer planted-api-key")...))
			}
		}
		note(get(t, "http://"+p.admin+"/readyz"))
		note(get(t, "http://"+p.admin+"/metrics"))
	}
	traffic()
	keys := logsOf(t, server)
	digest := regexp.MustCompile(`^rl:anon:[A-Za-z0-9_-]{22}$`)
	if len(keys) != 4 || !digest.MatchString(keys[0]) || !digest.MatchString(keys[1]) || keys[0] == keys[1] ||
		keys[2] != "rl:{readable-tenant}" || keys[3] != "rl:{readable-tenant}:user:readable-user" {
		t.Errorf("got the keys %q, want two digests, a tenant and its user", keys)
	}
	for _, key := range keys {
		shown.WriteString(key + "\n")
		members, _ := server.Do(t, "ZRANGE", key, "0", "-1", "WITHSCORES").([]any)
		for _, member := range members {
			shown.WriteString(text(member) + "\n")
		}
		if left, _ := server.Do(t, "PTTL", key).(int64); left <= windowMillis-600_000 || left > windowMillis+1000 {
			t.Errorf("%s lives for %d ms, want a window and a second", key, left)
		}
	}
	// Replicas with one secret name an address alike, IPv6 by its /64.
	note(get(t, "http://"+replica.listen+"/", address("203.0.113.77")...)).must(t, http.StatusTooManyRequests).counts(t, 2, 0)
	note(get(t, "http://"+replica.listen+"/", address("2001:db8:77::1")...)).must(t, http.StatusTooManyRequests).counts(t, 2, 0)

	behind.CloseClientConnections()
	behind.Close()
	note(get(t, "http://"+p.listen+"/", address("203.0.113.78")...)).must(t, http.StatusBadGateway)
	server.Kill(t)
	traffic()
	p.stop(t)
	shown.WriteString(p.stdout.String() + p.stderr.String())
	for _, secret := range []string{"203.0.113.7", "2001:db8:77", "planted", hmacSecret} {
		if i := strings.Index(shown.String(), secret); i >= 0 {
			t.Errorf("%s is shown: ...%s...", secret, shown.String()[max(0, i-200):min(shown.Len(), i+200)])
		}
	}
	if log := p.stdout.String() + p.stderr.String(); strings.Contains(log, "readable") {
		t.Errorf("the log names a tenant or a user: %s", log)
	}
}
