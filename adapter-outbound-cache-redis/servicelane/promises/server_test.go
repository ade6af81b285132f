package promises_test

import (
	"fmt"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redislimit"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
)

func newEnough(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	name, version := server.Name(s.do("INFO", "server"))
	told := s.open().Provider.Connection().Health().Version // which HELLO told
	for source, text := range map[string]string{"INFO": version, "HELLO": told} {
		has, err := program.ParseVersion(text)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		for _, p := range program.Catalogue() {
			if has.Before(p.MinRedis) {
				t.Errorf("%s says %v, and %s needs %v", source, has, p.ID(), p.MinRedis)
			}
		}
	}
	evidence.Record(t, "server", "%s %s, HELLO says %s; the programs need %v", name, version, told, program.MinRedis)
}

func protocolSpoken(t *testing.T, at redistest.Witness) {
	s := newScene(t, at)
	tap := newTap(t, s.server.Addr)
	r := s.open(func(c *redislimit.Config) { c.Redis.Addr = tap.addr })
	p := r.Config.Policies[0]
	r.Expect(p.ID(), rig.Subject(), 1, rig.Allowed(p.Limit()-1))
	want := fmt.Sprint(rig.Protocol(t))
	if !tap.answeredProtocol(want) {
		t.Errorf("the server does not say on every connection that it speaks RESP%s", want)
	}
	evidence.Record(t, "RESP version that the server says it speaks", "%s", want)
}
