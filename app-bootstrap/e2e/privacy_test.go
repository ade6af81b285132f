package e2e_test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// planted are identities, places and secrets that nothing may show.
var planted = map[string]string{
	"a subject header":        "planted-subject-alice",
	"a decision API subject":  "plantedsubjectbob",
	"a client's address":      "203.0.113.77",
	"an IPv6 address":         "2001:db8:77::77",
	"a route's path":          "/planted-route",
	"a path":                  "/planted-path",
	"a query":                 "planted-query",
	"an unknown policy's id":  "planted-policy",
	"the HMAC secret":         hmacSecret,
	"the Redis password":      aclPassword,
	"the admin token":         adminToken,
	"an upstream's word":      "planted-upstream-word",
	"an Authorization header": "planted-api-key",
}

func TestPrivacy_nothingShowsWhoAskedForWhat(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	grant(t, server, append(limiterRights, "info")...)
	s := byHeader(limiting(t, server.Addr(), behind.URL, fixedWindow("api", 3), slidingCounter("routed", 3), tokenBucket("bucket", 3)), "127.0.0.1").
		with("app.rate-limit.routes", []route{{"path": planted["a route's path"] + "/*", "policy": "routed"}, {"path": "/bucket", "policy": "bucket"}}).
		with("app.server.admin-token-file", secretFile(t, adminToken)).
		with("app.rate-limit.redis.username", "limiter").
		with("app.rate-limit.redis.password-file", secretFile(t, aclPassword)).
		with("app.rate-limit.redis.command-timeout", "200ms")
	p := serve(t, s)
	bearer := "Authorization: Bearer " + adminToken
	var shown strings.Builder // all that anybody but the upstream gets to see
	note := func(r reply) {
		shown.WriteString(r.body)
		for name, values := range r.header {
			shown.WriteString(name + ": " + strings.Join(values, ",") + "\n")
		}
	}
	traffic := func() {
		name := "X-Client-Id: " + planted["a subject header"]
		for range 4 { // 200s, then a 429 where Redis is there
			for _, who := range []string{name, "X-Forwarded-For: " + planted["a client's address"], "X-Forwarded-For: " + planted["an IPv6 address"]} {
				for _, path := range []string{planted["a path"], planted["a route's path"] + "/x", "/bucket"} {
					note(get(t, "http://"+p.listen+path+"?"+planted["a query"], who, "Authorization: Bearer "+planted["an Authorization header"]))
				}
			}
		}
		note(get(t, "http://"+p.listen+planted["a path"]+"/%2e%2e", name))
		note(get(t, "http://"+p.listen+planted["a path"], name, name))
		for _, body := range []string{
			`{"subject":"plantedsubjectbob"}`, `{"subject":"plantedsubjectbob","policy":"planted-policy"}`,
			`{"subject":"plantedsubjectbob","cost":99}`, `{"plantedsubjectbob":1}`, `{"subject":"plantedsubjectbob","subjectKind":"ip"}`,
			`{"subject":"plantedsubjectbob"`, `{"subject":"203.0.113.77","subjectKind":"ip"}`,
		} {
			note(p.evaluate(t, body, bearer))
		}
		note(p.evaluate(t, `{"subject":"plantedsubjectbob"}`, "Authorization: Bearer "+planted["an Authorization header"]))
		note(get(t, "http://"+p.admin+authorizePath, bearer, name, "X-Forwarded-Uri: "+planted["a route's path"]+"/x?"+planted["a query"]))
		note(get(t, "http://"+p.admin+"/readyz"))
		shown.WriteString(get(t, "http://"+p.admin+"/metrics", bearer).must(t, http.StatusOK).body)
	}
	traffic()

	keys := keysOf(t, server)
	if len(keys) < 7 {
		t.Errorf("got %d keys, want one a subject and policy", len(keys))
	}
	for _, key := range keys {
		shown.WriteString(key + "\n")
		if left, _ := server.Do(t, "PTTL", key).(int64); left <= 0 && left != -2 {
			t.Errorf("the key %s has no lifetime: %d", key, left)
		}
		fields, _ := server.Do(t, "HGETALL", key).([]any)
		for _, field := range fields {
			shown.WriteString(text(field) + "\n")
		}
	}

	link := misbehaving(t)
	behind.CloseClientConnections()
	behind.Close()
	note(get(t, "http://"+p.listen+planted["a path"], "X-Client-Id: another").must(t, http.StatusBadGateway))
	server.Kill(t)
	traffic()
	p.signal(t, syscall.SIGTERM)
	if code := p.exit(t); code != 0 {
		t.Errorf("got exit code %d, want 0", code)
	}
	shown.WriteString(p.stdout.String() + p.stderr.String() + link)
	for what, text := range planted {
		if i := strings.Index(shown.String(), text); i >= 0 {
			t.Errorf("%s is shown: ...%s...", what, shown.String()[max(0, i-200):min(shown.Len(), i+200)])
		}
	}
}
