package e2e_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// TestInbound_usersShareTheirTenant has limits of 5 a tenant, 3 a user, 2 a key and
// 2 an address.
func TestInbound_usersShareTheirTenant(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	p := serve(t, inboundWeb(t, server.Addr(), behind.URL))
	ann, bob, carol := user("acme", "ann"), user("acme", "bob"), user("acme", "carol")
	key := apiKey("globex", "k1")
	want := map[string]string{}
	begun := redisMillis(t, server)
	for _, row := range []struct {
		sentence         string
		headers          []string
		limit, remaining int
		violated         []string // none: allowed
		tenant, layer    string   // that the denial counts for
	}{
		{"a user has less left than the tenant", ann, 3, 2, nil, "", ""},
		{"and less with every request", ann, 3, 1, nil, "", ""},
		{"another user has all of its own, which is what the tenant has left", bob, 3, 2, nil, "", ""},
		{"the first user's last", ann, 3, 0, nil, "", ""},
		{"a full user is denied", ann, 3, 0, []string{"inbound-web:user"}, "acme", "user"},
		{"which did not charge the tenant: its last goes to the other user", bob, 5, 0, nil, "", ""},
		{"a full tenant denies a user with room", bob, 5, 0, []string{"inbound-web:tenant"}, "acme", "tenant"},
		{"and one who never came", carol, 5, 0, []string{"inbound-web:tenant"}, "acme", "tenant"},
		{"and a request of nobody in particular", tenant("acme"), 5, 0, []string{"inbound-web:tenant"}, "acme", "tenant"},
		{"both are full, and the tenant's resets later", ann, 5, 0, []string{"inbound-web:tenant", "inbound-web:user"}, "acme", "both"},

		{"a key counts as a user does", key, 2, 1, nil, "", ""},
		{"with a user beside the key, the user counts", append(user("globex", "ann"), "X-Key-Id: k1"), 3, 2, nil, "", ""},
		{"so this is the key's second", key, 2, 0, nil, "", ""},
		{"a full key is denied", key, 2, 0, []string{"inbound-web:key"}, "globex", "user"},
		{"calls of one and of two layers count together", tenant("globex"), 5, 1, nil, "", ""},
		{"an empty user is none", user("globex", ""), 5, 0, nil, "", ""},

		{"an address", address("203.0.113.5"), 2, 1, nil, "", ""},
		{"an empty tenant is none", append(tenant(""), address("203.0.113.5")...), 2, 0, nil, "", ""},
		{"a full address is denied", address("203.0.113.5"), 2, 0, []string{"inbound-web:ip"}, "", "ip"},
		{"another address", address("203.0.113.6"), 2, 1, nil, "", ""},
		{"the peer itself", nil, 2, 1, nil, "", ""},
	} {
		got := get(t, "http://"+p.listen+"/own-headers", row.headers...).counts(t, row.limit, row.remaining).says(t, "X-RateLimit-Source")
		// At most this much of the window has passed for whatever was counted.
		least := windowSeconds - (redisMillis(t, server)-begun)/1000 - 1
		if row.violated == nil {
			got.must(t, http.StatusOK).says(t, "X-RateLimit-Reset: "+numeral(windowSeconds), "Retry-After", "X-Upstream: its own")
		} else {
			got.must(t, http.StatusTooManyRequests).problem(t, "evaluated").violates(t, row.violated...).says(t, "X-Upstream").
				between(t, "X-RateLimit-Reset", least, windowSeconds).between(t, "Retry-After", least, windowSeconds)
			labels := `{layer="` + row.layer + `",tenant_id="` + row.tenant + `"}`
			want[labels] = numeral(int(integer(t, "0"+want[labels])) + 1)
		}
		if now := p.samples(t, rejections); !maps.Equal(now, want) {
			t.Errorf("%s: the rejections are %v, want %v", row.sentence, now, want)
		}
		if t.Failed() {
			t.Fatalf("%s: got %d %v", row.sentence, got.status, got.header)
		}
	}
	if n := p.total(t, fallbacks) + p.total(t, failures); n != 0 {
		t.Errorf("%d requests were not decided by Redis", n)
	}
}

// TestInbound_anIDIsNobodyElse gives a tenant and a user the same id, and each one
// request.
func TestInbound_anIDIsNobodyElse(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	p := serve(t, inboundWeb(t, server.Addr(), behind.URL).
		inbound("limits", map[string]int{"tenant": 5, "user": 1, "key": 1, "anonymous": 1}))
	longest := strings.Repeat("n", 256)
	var keys []string
	rejected := map[string]string{}
	for _, row := range []struct{ id, escaped, label string }{
		{"acme", "acme", "acme"},
		{"ACME", "ACME", "ACME"},
		{"{acme}", "%7Bacme%7D", "{acme}"},
		{"acme}:user:acme", "acme%7D%3Auser%3Aacme", "acme}:user:acme"},
		{"{", "%7B", "{"},
		{"}", "%7D", "}"},
		{":", "%3A", ":"},
		{"%", "%25", "%"},
		{"%7B", "%257B", "%7B"},
		{"a b", "a%20b", "a b"},
		{"a\tb", "a%09b", "a\tb"},
		{`a"b\c`, "a%22b%5Cc", `a\"b\\c`},
		{"é", "%C3%A9", "é"},
		{"\xff\xfe", "%FF%FE", "\uFFFD"},
		{longest, longest, longest},
		{strings.Repeat("{", 85), strings.Repeat("%7B", 85), strings.Repeat("{", 85)},
	} {
		get(t, "http://"+p.listen+"/", user(row.id, row.id)...).must(t, http.StatusOK).counts(t, 1, 0)
		get(t, "http://"+p.listen+"/", user(row.id, row.id)...).must(t, http.StatusTooManyRequests).counts(t, 1, 0)
		keys = append(keys, "rl:{"+row.escaped+"}", "rl:{"+row.escaped+"}:user:"+row.escaped)
		rejected[`{layer="user",tenant_id="`+row.label+`"}`] = "1"
	}
	slices.Sort(keys)
	if got := logsOf(t, server); !slices.Equal(got, keys) {
		t.Errorf("got the keys %q, want %q", got, keys)
	}
	if got := p.samples(t, rejections); !maps.Equal(got, rejected) {
		t.Errorf("got the rejections %v, want %v", got, rejected)
	}
}

func TestInbound_whoCannotBeLimitedIsRefusedAlsoWithoutRedis(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	p := serve(t, inboundWeb(t, server.Addr(), behind.URL))
	ann := user("acme-id", "ann-id")
	refusals := map[string][]string{
		"a user without a tenant":            {"X-User-Id: ann-id"},
		"a key without a tenant":             {"X-Key-Id: k1"},
		"a user whose tenant is empty":       user("", "ann-id"),
		"two tenants":                        append(tenant("globex"), ann...),
		"one tenant twice":                   append(tenant("acme-id"), ann...),
		"a tenant and an empty one":          append(tenant(""), ann...),
		"two users":                          append([]string{"X-User-Id: bob"}, ann...),
		"two keys, though the user counts":   append([]string{"X-Key-Id: k1", "x-key-id: k2"}, ann...),
		"a tenant of 257 bytes":              tenant(strings.Repeat("n", 257)),
		"a user of 300 bytes":                user("acme", strings.Repeat("n", 300)),
		"a key of 10 kB":                     apiKey("acme", strings.Repeat("n", 10_000)),
		"a tenant that escapes to 258 bytes": tenant(strings.Repeat("{", 86)),
		"a user that escapes to 300 bytes":   user("acme", strings.Repeat("\xff", 100)),
	}
	refuse := func() {
		t.Helper()
		for sentence, headers := range refusals {
			got := get(t, "http://"+p.listen+"/", headers...)
			if got.status != http.StatusBadRequest {
				t.Errorf("%s: got %d, want 400", sentence, got.status)
				continue
			}
			got.problem(t, "").uncounted(t).says(t, "Retry-After")
			if strings.Contains(got.body, "-id") || strings.Contains(got.body, "nnn") {
				t.Errorf("%s: the body repeats an id: %s", sentence, got.body)
			}
		}
	}
	refuse()
	if keys := logsOf(t, server); len(keys) != 0 {
		t.Errorf("requests that were refused are counted by %q", keys)
	}
	server.Kill(t)
	refuse()
	if n := len(behind.requests()); n != 0 {
		t.Errorf("the upstream saw %d of the refused requests", n)
	}
	if got, want := p.samples(t, failures), numeral(2*len(refusals)); len(got) != 1 || got[`{reason="invalid"}`] != want {
		t.Errorf("got the failures %v, want %s that are invalid", got, want)
	}
	if got := p.samples(t, fallbacks); len(got) != 0 {
		t.Errorf("the fallback was asked: %v", got)
	}
	get(t, "http://"+p.listen+"/", ann...).must(t, http.StatusOK).counts(t, 3, 2).says(t, "X-RateLimit-Source: local")
	if n := p.total(t, fallbacks); n != 1 {
		t.Errorf("the fallback was asked %d times, want once", n)
	}
}
