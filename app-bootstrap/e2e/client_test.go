package e2e_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// reply is what a client got.
type reply struct {
	status int
	header http.Header
	body   string
}

// client has a connection of its own for every request, follows no redirect and
// is never answered from a cache.
var client = &http.Client{
	Timeout:       patience,
	Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// try sends a request with headers given as "Name: value".
func try(method, url, body string, headers ...string) (reply, error) {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Add(name, value)
	}
	answered, err := client.Do(r)
	if err != nil {
		return reply{}, err
	}
	return read(answered)
}

func read(answered *http.Response) (reply, error) {
	defer func() { _ = answered.Body.Close() }()
	body, err := io.ReadAll(answered.Body)
	return reply{answered.StatusCode, answered.Header, string(body)}, err
}

func send(t testing.TB, method, url, body string, headers ...string) reply {
	t.Helper()
	got, err := try(method, url, body, headers...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return got
}

func get(t testing.TB, url string, headers ...string) reply {
	t.Helper()
	return send(t, http.MethodGet, url, "", headers...)
}

// sendRaw sends these very bytes, which a well-behaved client would not.
func sendRaw(t testing.TB, addr, request string) reply {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	answered, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	got, err := read(answered)
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	return got
}

// rawPath asks for a path exactly as it is written.
func rawPath(t testing.TB, addr, path string) reply {
	t.Helper()
	return sendRaw(t, addr, "GET "+path+" HTTP/1.1\r\nHost: "+addr+"\r\nConnection: close\r\n\r\n")
}

// must checks the status, and shows the reply if it is another.
func (r reply) must(t testing.TB, status int) reply {
	t.Helper()
	if r.status != status {
		t.Fatalf("got %d, want %d: %s %q", r.status, status, r.header, r.body)
	}
	return r
}

// says checks headers given as "Name: value"; "Name" alone must be absent. Every
// one that is there must be there once.
func (r reply) says(t testing.TB, headers ...string) reply {
	t.Helper()
	for _, header := range headers {
		name, want, present := strings.Cut(header, ": ")
		got := r.header.Values(name)
		if present && (len(got) != 1 || got[0] != want) || !present && len(got) > 0 {
			t.Errorf("%s: got %q, want %q (status %d)", name, got, want, r.status)
		}
	}
	return r
}

// object is the body as JSON.
func (r reply) object(t testing.TB) map[string]any {
	t.Helper()
	var object map[string]any
	decoder := json.NewDecoder(strings.NewReader(r.body))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		t.Fatalf("the body %q is no JSON object: %v", r.body, err)
	}
	return object
}

// problem checks that the body is one of RFC 9457 with that outcome; "" is none.
func (r reply) problem(t testing.TB, outcome string) reply {
	t.Helper()
	r.says(t, "Content-Type: application/problem+json", "Cache-Control: no-store", "X-Content-Type-Options: nosniff")
	members := r.object(t)
	status, _ := members["status"].(json.Number)
	if got, _ := members["outcome"].(string); got != outcome || status.String() != numeral(r.status) {
		t.Errorf("got the problem %s, want status %d and outcome %q", r.body, r.status, outcome)
	}
	if members["type"] == "" || members["title"] == "" {
		t.Errorf("the problem %s lacks its type or title", r.body)
	}
	return r
}

// number is a header that holds one integer.
func (r reply) number(t testing.TB, name string) int64 {
	t.Helper()
	values := r.header.Values(name)
	if len(values) != 1 {
		t.Fatalf("%s: got %q, want one line (status %d)", name, values, r.status)
	}
	return integer(t, values[0])
}
