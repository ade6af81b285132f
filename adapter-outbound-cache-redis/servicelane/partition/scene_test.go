package partition_test

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/caller"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
	"github.com/edgelimit/edgelimit/shared-contract/secret"
)

const (
	limit     = 200
	cutFor    = 8 * time.Second
	every     = 2 * time.Millisecond // a client asks
	rounds    = 25                   // of each key before the cut
	patience  = 30 * time.Second
	pollEvery = 20 * time.Millisecond
	secretKey = "0123456789abcdef0123456789abcdef"
	redisPort = ":6379"
)

// scene is the two sides and what is between them.
type scene struct {
	*rig.Rig // of keys and charges; it has no provider, which are all in clients
	t        *testing.T

	left, between, right    *server.Network
	leftClient, rightClient *client
}

// newScene makes the networks and the clients, which are launched with the servers.
func newScene(t *testing.T) *scene {
	t.Helper()
	own, err := secret.New([]byte(secretKey))
	if err != nil {
		t.Fatal(err)
	}
	policies, err := caller.Policies(limit)
	if err != nil {
		t.Fatal(err)
	}
	return &scene{
		t: t, left: server.NewNetwork(t), between: server.NewNetwork(t), right: server.NewNetwork(t),
		Rig: &rig.Rig{Line: &rig.Line{T: t}, Config: redislimit.Config{
			KeyPrefix: "lane." + strings.ToLower(rand.Text()[:12]), Secret: own, Policies: policies,
		}},
	}
}

// launch starts servers and clients, and waits until all servers serve.
func (s *scene) launch(servers ...*server.Member) {
	s.t.Helper()
	clients := []*client{s.leftClient, s.rightClient}
	all := slices.Clone(servers)
	for _, c := range clients {
		all = append(all, c.Member)
	}
	server.Launch(s.t, all...)
	for _, c := range clients {
		c.attach()
	}
	for _, one := range servers {
		s.await(one.Name+" to serve", func() bool {
			pong, came := s.at(one).ask("PING")
			return came && pong == "PONG"
		})
	}
	name, version := server.Name(s.at(servers[0]).must("INFO", "server"))
	evidence.RecordServer(s.t, name, version)
}

// at is a server as the client on its side sees it.
func (s *scene) at(one *server.Member) witness {
	seeing := s.rightClient
	if slices.Contains(one.Networks, s.left) {
		seeing = s.leftClient
	}
	return witness{seeing, one.Name + redisPort}
}

func (s *scene) info(one *server.Member, section, field string) string {
	s.t.Helper()
	for line := range strings.Lines(fmt.Sprint(s.at(one).must("INFO", section))) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// await polls for what must come by itself, and says how long it took.
func (s *scene) await(what string, holds func() bool) time.Duration {
	s.t.Helper()
	began := time.Now()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !holds() {
		if time.Since(began) > patience {
			s.t.Fatalf("waited %v for %s", patience, what)
		}
		<-tick.C
	}
	return time.Since(began)
}

// hold lets the cut last.
func (s *scene) hold(since time.Time) {
	s.t.Helper()
	select {
	case <-time.After(time.Until(since.Add(cutFor))):
	case <-s.t.Context().Done():
		s.t.Fatal("the test has ended")
	}
}

// mark notes a moment in the accounts of both clients.
func (s *scene) mark(moment string) {
	s.t.Helper()
	s.leftClient.mark(moment)
	s.rightClient.mark(moment)
}

// begin has both clients ask until the end.
func (s *scene) begin(questions []caller.Question) {
	s.t.Helper()
	s.leftClient.begin(questions, 0)
	s.rightClient.begin(questions, 0)
}

// end ends it: what each of them saw.
func (s *scene) end() (left, right caller.Account) {
	s.t.Helper()
	return s.leftClient.end(), s.rightClient.end()
}

// target is what the providers of a scene have in common.
func (s *scene) target() caller.Target {
	return caller.Target{Prefix: s.Config.KeyPrefix, Secret: secretKey, Protocol: rig.Protocol(s.t), Limit: limit}
}

// questions are of n new subjects under each policy, which a server must take for its own where one is given.
func (s *scene) questions(n int, own func(key string) bool) []caller.Question {
	s.t.Helper()
	var all []caller.Question
	for _, p := range s.Config.Policies {
		for found := 0; found < n; {
			q := caller.Question{PolicyID: p.ID(), Subject: rig.Subject()}
			if own == nil || own(s.StateKey(q.PolicyID, q.Subject)) {
				all = append(all, q)
				found++
			}
		}
	}
	return all
}

// charged is what a server has charged to a question's subject.
func (s *scene) charged(at witness, q caller.Question) int64 {
	s.t.Helper()
	s.Server = at
	return s.Charged(q.PolicyID, q.Subject)
}

// expectLifetimes fails if a key of the providers' lives for ever on one of these servers.
func (s *scene) expectLifetimes(servers ...*server.Member) {
	s.t.Helper()
	for _, one := range servers {
		names, _ := s.at(one).must("KEYS", s.Config.KeyPrefix+":*").([]any)
		for _, name := range names {
			if fmt.Sprint(s.at(one).must("PTTL", fmt.Sprint(name))) == "-1" {
				s.t.Errorf("key %v of %s has no lifetime", name, one.Name)
			}
		}
	}
}
