package e2e_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/coder/websocket"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

func TestInbound_tenantsHaveTheirOwnLimits(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	p := serve(t, inboundWeb(t, server.Addr(), behind.URL).
		inbound("limits", map[string]int{"tenant": 5, "user": 3, "key": 2, "anonymous": 0}).
		inbound("tenants", map[string]any{
			"acme":         map[string]int{"tenant": 8, "user": 4},
			"shop.example": map[string]int{"key": 1},
			"{é}":          map[string]int{"user": 1},
			"closed":       map[string]int{"tenant": 0},
			"bots":         map[string]int{"user": 0},
		}))
	for _, row := range []struct {
		sentence         string
		headers          []string
		limit, remaining int
		denied           string // layer; "" is allowed
	}{
		{"a user of a tenant with more", user("acme", "ann"), 4, 3, ""},
		{"what a tenant leaves out is everybody's", apiKey("acme", "k1"), 2, 1, ""},
		{"nobody in particular of it", tenant("acme"), 8, 5, ""},
		{"an id is verbatim", user("Acme", "ann"), 3, 2, ""},
		{"an id with a dot", apiKey("shop.example", "k1"), 1, 0, ""},
		{"whose users have everybody's", user("shop.example", "ann"), 3, 2, ""},
		{"an id that is escaped in keys", user("{é}", "ann"), 1, 0, ""},
		{"a tenant without a limit of its own", user("globex", "ann"), 3, 2, ""},
		{"a tenant that may do nothing", user("closed", "ann"), 0, 0, "tenant"},
		{"nor by nobody in particular", tenant("closed"), 0, 0, "tenant"},
		{"a tenant whose users may do nothing", user("bots", "ann"), 0, 0, "user"},
		{"and whose keys may", apiKey("bots", "k1"), 2, 1, ""},
		{"an address where none may come", nil, 0, 0, "ip"},
	} {
		rejected := p.total(t, rejections)
		got := get(t, "http://"+p.listen+"/", row.headers...).counts(t, row.limit, row.remaining).says(t, "Retry-After")
		switch row.denied {
		case "":
			got.must(t, http.StatusOK)
		default:
			got.must(t, http.StatusTooManyRequests).problem(t, "evaluated").violates(t, "inbound-web:"+row.denied)
			rejected++
		}
		if n := p.total(t, rejections); n != rejected {
			t.Errorf("%s: there are %d rejections, want %d", row.sentence, n, rejected)
		}
		if t.Failed() {
			t.Fatalf("%s: got %d %v", row.sentence, got.status, got.header)
		}
	}
	for sample, want := range map[string]string{
		`{layer="tenant",tenant_id="closed"}`: "2", `{layer="user",tenant_id="bots"}`: "1", `{layer="ip",tenant_id=""}`: "1",
	} {
		if got := p.metric(t, rejections+sample); got != want {
			t.Errorf("%s: got %q, want %s", sample, got, want)
		}
	}
}

func TestInbound_preflightsAreExemptOrCounted(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	asks := []string{"Origin: https://shop.example", "Access-Control-Request-Method: PUT"}
	s := inboundWeb(t, server.Addr(), behind.URL)

	p := serve(t, s)
	for range 4 { // an address has 2
		got := send(t, http.MethodOptions, "http://"+p.listen+"/own-headers", "", append(asks, "X-User-Id: ann")...)
		got.must(t, http.StatusOK).uncounted(t).says(t, "X-Upstream: its own")
	}
	if n := behind.count("/own-headers"); n != 4 {
		t.Errorf("the upstream saw %d preflights, want 4", n)
	}
	send(t, http.MethodOptions, "http://"+p.listen+"/", "", asks[0]).must(t, http.StatusOK).counts(t, 2, 1)
	get(t, "http://"+p.listen+"/", asks...).must(t, http.StatusOK).counts(t, 2, 0)
	send(t, http.MethodOptions, "http://"+p.listen+"/", "").must(t, http.StatusTooManyRequests).counts(t, 2, 0)
	send(t, http.MethodOptions, "http://"+p.listen+"/", "", asks...).must(t, http.StatusOK).uncounted(t)

	counting := serve(t, s.inbound("preflight", "count"))
	from := append(address("203.0.113.5"), asks...)
	for remaining := range 2 {
		send(t, http.MethodOptions, "http://"+counting.listen+"/", "", from...).must(t, http.StatusOK).counts(t, 2, 1-remaining)
	}
	send(t, http.MethodOptions, "http://"+counting.listen+"/", "", from...).must(t, http.StatusTooManyRequests).counts(t, 2, 0)
}

func TestInbound_streamsAndUpgradesAreChargedOnceAndFlow(t *testing.T) {
	t.Parallel()
	server, behind := redistest.Start(t), newUpstream(t)
	p := serve(t, inboundWeb(t, server.Addr(), behind.URL))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	answered, err := client.Get("http://" + p.listen + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answered.Body.Close() }()
	reply{answered.StatusCode, answered.Header, ""}.must(t, http.StatusOK).counts(t, 2, 1).says(t, "Content-Type: text/event-stream")
	lines := bufio.NewReader(answered.Body)
	if line, err := lines.ReadString('\n'); err != nil || line != "data: first\n" {
		t.Fatalf("got %q, %v, want the first event", line, err)
	}
	close(behind.release) // only now may the upstream end
	if rest, err := io.ReadAll(lines); err != nil || string(rest) != "\ndata: last\n\n" {
		t.Errorf("got %q, %v, want the last event and a clean end", rest, err)
	}

	dial := func() (*websocket.Conn, *http.Response, error) {
		return websocket.Dial(ctx, "ws://"+p.listen+"/socket", &websocket.DialOptions{
			HTTPHeader: http.Header{"X-Tenant-Id": {"acme"}, "X-Key-Id": {"k1"}},
		})
	}
	for remaining := range 2 {
		conn, upgraded, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.CloseNow() }()
		reply{upgraded.StatusCode, upgraded.Header, ""}.must(t, http.StatusSwitchingProtocols).counts(t, 2, 1-remaining).says(t, "Retry-After")
		for range 20 {
			if err := conn.Write(ctx, websocket.MessageText, []byte("hello")); err != nil {
				t.Fatal(err)
			}
			if _, got, err := conn.Read(ctx); err != nil || string(got) != "hello" {
				t.Fatalf("got %q, %v, want an echo", got, err)
			}
		}
	}
	if _, refused, err := dial(); err == nil || refused == nil || refused.StatusCode != http.StatusTooManyRequests {
		t.Errorf("got %v, want an upgrade beyond the limit to be denied", err)
	}
	get(t, "http://"+p.listen+"/").must(t, http.StatusOK).counts(t, 2, 0)
}
