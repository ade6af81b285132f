//go:build soak

package e2e_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	commandTimeout = 50 * time.Millisecond
	admissionWait  = 5 * time.Millisecond
	upstreamTime   = 10 * time.Millisecond // of what clients may leave
	edgeInFlight   = 32

	soakClients = 32   // at once, of both gateways
	soakRate    = 1200 // requests a second of all clients together
)

// soakUpstream notes nothing, so that it does not grow itself.
type soakUpstream struct {
	*httptest.Server
	seen atomic.Int64 // without those of clients who may leave
}

func newSoakUpstream(t testing.TB) *soakUpstream {
	u := &soakUpstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/left" {
			select {
			case <-time.After(upstreamTime):
			case <-r.Context().Done():
			}
		} else {
			u.seen.Add(1)
		}
		_, _ = io.WriteString(w, "hello")
	}))
	t.Cleanup(func() {
		u.CloseClientConnections()
		u.Close()
	})
	return u
}

// keeping is a client that keeps its connections, as most do; [client] has one for
// every request.
var keeping = &http.Client{
	Timeout:   patience,
	Transport: &http.Transport{MaxIdleConnsPerHost: soakClients, DisableCompression: true},
}

// caller is one of the clients.
type caller struct {
	*rand.Rand
	to   *soaked
	name string // unlike any other's
	sent int
}

// saturate makes the metric of denied tenants as large as it gets: beyond 1,000
// tenants they are counted as others. Those that the load names come first.
func (s *soak) saturate() {
	s.Helper()
	for _, g := range s.gateways {
		c := &caller{rand.New(rand.NewPCG(s.seed, 0)), g, "first", 0}
		for n := range 1100 {
			id := "early-" + numeral(n)
			if n < knownTenants {
				id = knownTenant(n)
			}
			c.ask(call{kind: "gateway", policy: "api", method: "GET", url: "http://" + g.listen + "/", headers: append(apiKey(id, "k"), c.newAddress()...)})
		}
	}
}

// load runs the clients while during does its work.
func (s *soak) load(phase uint64, during func()) {
	over := make(chan struct{})
	var clients sync.WaitGroup
	for i := range soakClients {
		c := &caller{
			rand.New(rand.NewPCG(s.seed+phase, uint64(i)+1)), s.gateways[i%len(s.gateways)], fmt.Sprintf("%d-%d", phase, i), 0,
		}
		clients.Go(func() { c.run(over) })
	}
	defer clients.Wait()
	defer close(over)
	during()
}

func (c *caller) run(over <-chan struct{}) {
	tick := time.NewTicker(time.Second * soakClients / soakRate) // drops what it is late for
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
			c.ask(c.next())
		}
	}
}

// call is one request, and whose count it belongs to.
type call struct {
	kind    string // gateway, evaluate, authorize, malformed
	policy  string // that counts it; "" if none does
	method  string
	url     string
	body    string
	headers []string
	want    int // the one status of a malformed one
	leaves  time.Duration
	once    bool // on a connection of its own
}

const (
	knownTenants = 4
	knownUsers   = 20
	hotAddresses = 40
)

func knownTenant(n int) string { return "tenant-" + numeral(n) }

// newAddress is one that nobody had before, of either family.
func (c *caller) newAddress() []string {
	if c.IntN(2) == 0 {
		return address(fmt.Sprintf("%d.%d.%d.%d", 11+c.IntN(100), c.IntN(256), c.IntN(256), c.IntN(256)))
	}
	return address(fmt.Sprintf("2001:db8:%x:%x::%x", c.IntN(1<<16), c.IntN(1<<16), c.IntN(1<<16)))
}

func (c *caller) next() call {
	c.sent++
	base := "http://" + c.to.listen
	plain := func(policy, path string, who ...string) call {
		return call{kind: "gateway", policy: policy, method: "GET", url: base + path, headers: who, once: c.IntN(50) == 0}
	}
	hot := append(address("203.0.113."+numeral(c.IntN(hotAddresses))), user(knownTenant(c.IntN(knownTenants)), numeral(c.IntN(knownUsers)))...)
	unique := c.name + "-" + numeral(c.sent)
	switch n := c.IntN(100); {
	case n < 30:
		return plain("api", "/", hot...)
	case n < 52:
		return plain("api", "/", c.newAddress()...)
	case n < 62:
		return plain("api", "/", append(c.newAddress(), user("new-"+unique, "u")...)...)
	case n < 67:
		return plain("api", "/", append(c.newAddress(), apiKey("denied-"+unique, "k")...)...)
	case n < 77:
		post := plain("search", "/search/x?q=1", hot...)
		post.method, post.body = "POST", "some words"
		return post
	case n < 82:
		return plain("export", "/export", hot...)
	case n < 85:
		return call{kind: "malformed", method: "GET", url: base + "//x", want: http.StatusBadRequest}
	case n < 90:
		left := plain("left", "/left", c.newAddress()...)
		left.leaves = time.Duration(c.Int64N(int64(2 * upstreamTime)))
		return left
	case n < 97:
		return c.question(unique)
	default:
		return call{kind: "authorize", policy: "api", method: "GET", url: "http://" + c.to.admin + authorizePath,
			headers: append(c.newAddress(), "X-Original-Uri: /any", "X-Original-Method: GET")}
	}
}

// question asks the decision API, well or badly.
func (c *caller) question(unique string) call {
	q := call{kind: "evaluate", policy: "api", method: "POST", url: "http://" + c.to.admin + evaluatePath, headers: []string{sendsJSON}}
	switch c.IntN(12) {
	case 0:
		q.kind, q.policy, q.want, q.body = "malformed", "", 400, `{"subject":"planted-1"`
	case 1:
		q.kind, q.want, q.body = "malformed", 400, `{"subject":"planted-1","cost":6}`
	case 2:
		q.kind, q.policy, q.want, q.body = "malformed", "unknown", 404, `{"subject":"planted-1","policy":"planted"}`
	case 3:
		q.kind, q.policy, q.want, q.body = "malformed", "", 413, `{"subject":"planted-1"}`+strings.Repeat(" ", 64<<10)
	case 4:
		q.kind, q.policy, q.want, q.headers = "malformed", "", 415, []string{"Content-Type: text/plain"}
	case 5, 6, 7:
		q.body = `{"subject":"planted-` + unique + `"}`
	default:
		q.kind, q.body = "hot", `{"subject":"planted-hot"}`
	}
	return q
}

// ask sends a request and notes what came of it.
func (c *caller) ask(a call) {
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	if a.leaves > 0 {
		defer time.AfterFunc(a.leaves, leave).Stop()
	}
	begun := time.Now()
	got, err := a.send(ctx)
	c.to.book.note(a, got, err, time.Since(begun))
}

func (a call) send(ctx context.Context) (reply, error) {
	r, err := http.NewRequestWithContext(ctx, a.method, a.url, strings.NewReader(a.body))
	if err != nil {
		return reply{}, err
	}
	for _, header := range a.headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Add(name, value)
	}
	by := keeping
	if a.once {
		by = client
	}
	answered, err := by.Do(r)
	if err != nil {
		return reply{}, err
	}
	return read(answered)
}
