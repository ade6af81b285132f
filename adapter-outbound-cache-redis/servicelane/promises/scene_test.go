package promises_test

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
	"github.com/edgelimit/edgelimit/shared-contract/ratelimit"
)

// generous is a time within which a server that is well answers, on a machine that is busy.
const generous = 10 * time.Second

// scene is a server, a client of it in the lane's protocol, and keys that nobody else has.
type scene struct {
	*testing.T
	server redistest.Witness
	client *redis.Client
	prefix string // of every key, which goes on with a colon
}

// newScene is a scene whose keys are deleted once everything that was opened in it is closed.
func newScene(t *testing.T, at redistest.Witness) *scene {
	t.Helper()
	s := &scene{T: t, server: at, prefix: "lane." + strings.ToLower(rand.Text()[:12])}
	s.client = redis.NewClient(&redis.Options{
		Addr: s.server.Addr, Password: s.server.Password, Protocol: rig.Protocol(t), MaxRetries: -1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		DialTimeout:              generous, ReadTimeout: generous, WriteTimeout: generous,
	})
	t.Cleanup(func() { _ = s.client.Close() })
	t.Cleanup(s.sweep)
	return s
}

// key is one of the scene's keys.
func (s *scene) key(name string) string { return s.prefix + ":" + name }

// keys are those of the scene's that the server holds.
func (s *scene) keys() []string {
	s.Helper()
	ctx := context.Background()
	var found []string
	all := s.client.Scan(ctx, 0, s.prefix+":*", 1000).Iterator()
	for all.Next(ctx) {
		found = append(found, all.Val())
	}
	if err := all.Err(); err != nil {
		s.Fatal(err)
	}
	return found
}

// sweep deletes the scene's keys.
func (s *scene) sweep() {
	for _, key := range s.keys() {
		if err := s.client.Unlink(context.Background(), key).Err(); err != nil {
			s.Error(err)
		}
	}
}

// do sends one command over a connection of its own; the server must not refuse it.
func (s *scene) do(args ...string) any {
	s.Helper()
	reply := s.server.Do(s.T, args...)
	if refused, ok := reply.(redistest.ServerError); ok {
		s.Fatalf("%.200q: %v", args, refused)
	}
	return reply
}

// nowMicros is the server's clock.
func (s *scene) nowMicros() int64 {
	s.Helper()
	parts, _ := s.do("TIME").([]any)
	var n [2]int64
	for i := range n {
		number, err := strconv.ParseInt(parts[i].(string), 10, 64)
		if err != nil {
			s.Fatal(err)
		}
		n[i] = number
	}
	return n[0]*1_000_000 + n[1]
}

// open opens a provider on the scene's keys and waits until it is ready.
func (s *scene) open(changes ...func(*redislimit.Config)) *rig.Rig {
	s.Helper()
	return rig.New(s.T, s.server.Addr, s.server, append([]func(*redislimit.Config){func(c *redislimit.Config) {
		c.KeyPrefix = s.prefix
		c.Redis.Password = s.server.Password
		c.Redis.DialTimeout, c.Redis.CommandTimeout = generous, generous
	}}, changes...)...)
}

// named are policies like these, named after their algorithms so that one provider takes them all.
func (s *scene) named(policies []ratelimit.Policy) []ratelimit.Policy {
	s.Helper()
	var renamed []ratelimit.Policy
	for _, p := range policies {
		renamed = append(renamed, rig.Policy(s.T, p.Algorithm()))
	}
	return renamed
}

func with(policies []ratelimit.Policy) func(*redislimit.Config) {
	return func(c *redislimit.Config) { c.Policies = policies }
}
