//go:build soak

package e2e_test

import (
	"math/rand/v2"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// fault is one kind of what goes wrong.
type fault struct {
	name       string
	begin, end func(*soak)
	again      func(*soak) // every few milliseconds while it lasts
	bites      bool        // it must leave requests without a decision of Redis
}

// longestHold bounds how long a fault lasts, so that a beat has time for the return.
const longestHold = time.Second

// onLinks is a fault of the next EVALSHAs of both gateways.
func onLinks(name string, f redistest.Fault) fault {
	return fault{name: name, bites: true, begin: func(s *soak) {
		s.links(func(l *redistest.Link) { l.Fault("EVALSHA", -1, f) })
	}}
}

// rota is every kind once.
var rota = []fault{
	onLinks("the reply is lost", redistest.LoseReply()),
	onLinks("half of the reply comes", redistest.HalfReply()),
	onLinks("reset before the request", redistest.ResetBefore()),
	onLinks("reset in place of the reply", redistest.ResetAfter()),
	onLinks("the connection goes mute", redistest.Silence()),
	onLinks("the request is swallowed", redistest.Swallow()),
	onLinks("the reply is garbage", redistest.Replace([]byte("+garbage\r\n"))),
	{name: "replies come around the timeout", bites: true, begin: delayed},
	{name: "a black hole", bites: true, begin: func(s *soak) { s.links((*redistest.Link).Blackhole) }},
	{name: "connections are cut and refused", bites: true, begin: func(s *soak) {
		s.links(func(l *redistest.Link) { l.Refuse(); l.Cut() })
	}},
	{name: "the server is killed and comes back empty", bites: true,
		begin: func(s *soak) { s.server.Kill(s.T) },
		end:   func(s *soak) { s.server.Restart(s.T); s.lost++ }},
	{name: "the server is paused", bites: true,
		begin: func(s *soak) { s.server.Pause(s.T) },
		end:   func(s *soak) { s.server.Resume(s.T) }},
	{name: "the server is out of memory", bites: true,
		begin: func(s *soak) { s.server.Do(s.T, "CONFIG", "SET", "maxmemory", "1") },
		end:   func(s *soak) { s.server.Do(s.T, "CONFIG", "SET", "maxmemory", "0") }},
	{name: "the server is a replica", bites: true,
		begin: func(s *soak) { s.server.Do(s.T, "REPLICAOF", "127.0.0.1", "1") },
		end:   func(s *soak) { s.server.Do(s.T, "REPLICAOF", "NO", "ONE") }},
	{name: "the scripts are flushed", again: func(s *soak) { s.server.Do(s.T, "SCRIPT", "FLUSH") }},
	{name: "the clients are killed", again: func(s *soak) { s.server.Do(s.T, "CLIENT", "KILL", "TYPE", "normal") }},
	{name: "the data is flushed", begin: func(s *soak) { s.server.Do(s.T, "FLUSHALL"); s.lost++ }},
}

// delayed makes some replies come before the timeout and some after it.
func delayed(s *soak) {
	random := rand.New(rand.NewPCG(s.seed, uint64(len(s.strikes))))
	s.links(func(l *redistest.Link) {
		for range 200 {
			l.Fault("EVALSHA", 1, redistest.Delay(commandTimeout/2+time.Duration(random.Int64N(int64(commandTimeout)))))
		}
	})
}

func (s *soak) links(do func(*redistest.Link)) {
	for _, g := range s.gateways {
		do(g.link)
	}
}

// strike is one fault that was, and what the clients heard from its beginning to
// the next one.
type strike struct {
	name  string
	heard heard
}

// rotaOnce strikes with every kind once, in an order that the seed gives.
func (s *soak) rotaOnce() { s.rotaUntil(func() time.Duration { return time.Hour }) }

// rotaUntil ends early when no beat is left.
func (s *soak) rotaUntil(left func() time.Duration) {
	order := rand.New(rand.NewPCG(s.seed, uint64(len(s.strikes)))).Perm(len(rota))
	for _, i := range order {
		if left() < s.beat {
			return
		}
		s.strike(rota[i])
	}
}

func (s *soak) strike(f fault) {
	next := time.After(s.beat)
	before := s.heard()
	if f.begin != nil {
		f.begin(s)
	}
	s.hold(f)
	if f.end != nil {
		f.end(s)
	}
	s.links((*redistest.Link).Heal)
	s.countKeys()
	<-next
	s.strikes = append(s.strikes, strike{f.name, s.heard().minus(before)})
	for _, g := range s.gateways {
		select {
		case <-g.ended:
			s.Fatalf("%s ended with %d in a beat of %q", g.name, g.command.ProcessState.ExitCode(), f.name)
		default:
		}
	}
}

func (s *soak) hold(f fault) {
	over := time.After(min(longestHold, s.beat/2))
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if f.again != nil {
			f.again(s)
		}
		select {
		case <-over:
			return
		case <-tick.C:
		}
	}
}

// keyCount is what was seen of Redis' keys over the run.
type keyCount struct{ looks, most, immortal, named, longest int64 }

// countingKeys returns how many keys there are, how many have no end, how many are
// named for a planted subject, and the longest TTL.
const countingKeys = `
local cursor, n, immortal, named, longest = '0', 0, 0, 0, 0
repeat
  local page = redis.call('SCAN', cursor, 'COUNT', 1000)
  cursor = page[1]
  for _, key in ipairs(page[2]) do
    local ttl = redis.call('PTTL', key)
    n = n + 1
    if ttl == -1 then immortal = immortal + 1 end
    if string.find(key, 'planted', 1, true) then named = named + 1 end
    if ttl > longest then longest = ttl end
  end
until cursor == '0'
return {n, immortal, named, longest}`

func (s *soak) countKeys() {
	s.Helper()
	reply, ok := s.server.Do(s.T, "EVAL", countingKeys, "0").([]any)
	if !ok || len(reply) != 4 {
		s.Fatalf("the keys cannot be counted: %v", reply)
	}
	n := func(i int) int64 { return reply[i].(int64) }
	s.keys = keyCount{s.keys.looks + 1, max(s.keys.most, n(0)), s.keys.immortal + n(1), s.keys.named + n(2), max(s.keys.longest, n(3))}
}
