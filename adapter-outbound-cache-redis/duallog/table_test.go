package duallog_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/duallog"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// reply is a raw reply of the log program.
func reply(line string) []byte {
	words := strings.Fields(line)
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n$%d\r\n%s\r\n", len(words), len(words[0]), words[0])
	for _, word := range words[1:] {
		fmt.Fprintf(&b, ":%s\r\n", word)
	}
	return []byte(b.String())
}

// counted in place of an answer is allowed, with what is left of what the server
// itself has counted.
const counted = "counted"

// strikes are what can befall one call on its way, over the link: what its caller
// hears, and what the server itself has charged for it.
var strikes = []struct {
	sentence string
	timeout  time.Duration // of the call; 0 is what a call never needs
	strike   func(r *rig)
	want     string
	charged  int
	sent     int64 // EVALSHA that the server got
	sources  int64 // EVAL that it got
}{
	{sentence: "nothing befalls it", strike: func(*rig) {}, want: counted, charged: 1, sent: 1},
	{sentence: "the reply is lost", strike: evalsha(redistest.LoseReply()), want: "unknown", charged: 1, sent: 1},
	{sentence: "half the reply is lost", strike: evalsha(redistest.HalfReply()), want: "unknown", charged: 1, sent: 1},
	{sentence: "the connection is reset before the server sees it", strike: evalsha(redistest.ResetBefore()), want: "unknown"},
	{sentence: "the connection is reset in place of the reply", strike: evalsha(redistest.ResetAfter()), want: "unknown", charged: 1, sent: 1},
	{sentence: "the server runs it and falls silent", timeout: shortTimeout, strike: evalsha(redistest.Silence()), want: "unknown", charged: 1, sent: 1},
	{sentence: "the network swallows it", timeout: shortTimeout, strike: evalsha(redistest.Swallow()), want: "unknown"},
	{sentence: "the reply comes in time", strike: evalsha(redistest.Delay(50 * time.Millisecond)), want: counted, charged: 1, sent: 1},
	{sentence: "the reply comes too late", timeout: shortTimeout, strike: evalsha(redistest.Delay(2 * shortTimeout)), want: "unknown", charged: 1, sent: 1},
	{sentence: "the reply is garbage", strike: evalsha(redistest.Replace([]byte("\x00\xff garbage\r\n"))), want: "incompatible", charged: 1, sent: 1},
	{sentence: "the reply is a web page", strike: evalsha(redistest.Replace([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))), want: "incompatible", charged: 1, sent: 1},
	{sentence: "the reply is garbage without an end", timeout: shortTimeout, strike: evalsha(redistest.Replace([]byte("garbage"))), want: "unknown", charged: 1, sent: 1},
	{sentence: "the reply is OK", strike: evalsha(redistest.Replace([]byte("+OK\r\n"))), want: "incompatible", charged: 1, sent: 1},
	{sentence: "the reply is an integer", strike: evalsha(redistest.Replace([]byte(":1\r\n"))), want: "incompatible", charged: 1, sent: 1},
	{sentence: "the reply is nil", strike: evalsha(redistest.Replace([]byte("$-1\r\n"))), want: "incompatible", charged: 1, sent: 1},
	{sentence: "the reply has five fields", strike: evalsha(redistest.Replace(reply("ALLOWED 9 0 0 60000"))), want: "incompatible", charged: 1, sent: 1},
	{sentence: "the reply has seven fields", strike: evalsha(redistest.Replace(reply("ALLOWED 9 0 0 60000 0 0"))), want: "incompatible", charged: 1, sent: 1},
	{sentence: "the reply allows with more left than the limit", strike: evalsha(redistest.Replace(reply("ALLOWED 101 0 0 60000 0"))), want: "incompatible", charged: 1, sent: 1},
	{sentence: "the reply allows with the whole limit left", strike: evalsha(redistest.Replace(reply("ALLOWED 100 0 0 60000 0"))), want: "incompatible", charged: 1, sent: 1},
	{sentence: "the reply allows with a retry-after", strike: evalsha(redistest.Replace(reply("ALLOWED 9 0 5 60000 0"))), want: "incompatible", charged: 1, sent: 1},
	{sentence: "the reply denies without a retry-after", strike: evalsha(redistest.Replace(reply("DENIED 0 0 0 60000 0"))), want: "incompatible", charged: 1, sent: 1},
	{sentence: "the reply has a number below zero", strike: evalsha(redistest.Replace(reply("ALLOWED -1 0 0 60000 0"))), want: "incompatible", charged: 1, sent: 1},
	{sentence: "the reply is of a status that there is not", strike: evalsha(redistest.Replace(reply("GRANTED 9 0 0 60000 0"))), want: "incompatible", charged: 1, sent: 1},
	{sentence: "the reply says that the state is another's", strike: evalsha(redistest.Replace(reply("STATE_INCOMPATIBLE 0 0 0 0 0"))), want: "incompatible", charged: 1, sent: 1},
	{sentence: "the reply says that the clock is unsafe", strike: evalsha(redistest.Replace(reply("CLOCK_UNSAFE 0 0 0 0 0"))), want: "clock unsafe", charged: 1, sent: 1},
	{sentence: "the reply announces two thousand million elements", timeout: shortTimeout, strike: evalsha(redistest.Replace([]byte("*2147483647\r\n"))), want: "unknown", charged: 1, sent: 1},
	{sentence: "the reply is a page too long", strike: evalsha(redistest.Replace([]byte("$8192\r\n" + strings.Repeat("x", 8192) + "\r\n"))), want: "incompatible", charged: 1, sent: 1},
	{sentence: "the reply is an error of a script", strike: evalsha(redistest.Replace([]byte("-ERR user_script:1: attempt\r\n"))), want: "incompatible", charged: 1, sent: 1},
	{sentence: "the server has lost the program", strike: flushed(redistest.Pass()), want: counted, charged: 1, sent: 1, sources: 1},
	{sentence: "the server has lost the program, and the reply to its source is lost", strike: flushed(redistest.LoseReply()), want: "unknown", charged: 1, sent: 1, sources: 1},
	{sentence: "the server has lost the program, and never gets its source", strike: flushed(redistest.ResetBefore()), want: "unknown", sent: 1},
	{sentence: "no connection can be had", strike: func(r *rig) { r.link.Refuse(); r.link.Cut() }, want: "unavailable"},
	{sentence: "the handshake is broken off", strike: handshake(redistest.LoseReply()), want: "unavailable"},
	{sentence: "the handshake is reset", strike: handshake(redistest.ResetBefore()), want: "unavailable"},
	{sentence: "the handshake is never answered", timeout: shortTimeout, strike: handshake(redistest.Silence()), want: "unavailable"},
	{sentence: "the handshake is answered by garbage", strike: handshake(redistest.Replace([]byte("garbage\r\n"))), want: "unavailable"},
	{sentence: "the handshake says that the server loads", strike: handshake(redistest.Replace([]byte("-LOADING Redis is loading\r\n"))), want: "unavailable"},
	{sentence: "the handshake says that the server is full", strike: handshake(redistest.Replace([]byte("-ERR max number of clients reached\r\n"))), want: "unavailable"},
	{sentence: "the handshake refuses the password", strike: handshake(redistest.Replace([]byte("-WRONGPASS invalid username-password pair\r\n"))), want: "unavailable"},
	{sentence: "the handshake wants a password", strike: handshake(redistest.Replace([]byte("-NOAUTH Authentication required.\r\n"))), want: "unavailable"},
	{sentence: "the network takes everything", timeout: shortTimeout, strike: func(r *rig) { r.link.Blackhole() }, want: "unknown"},
	{sentence: "the limiter is closed", strike: func(r *rig) { _ = r.limiter.Close() }, want: "unavailable"},
}

func evalsha(f redistest.Fault) func(*rig) {
	return func(r *rig) { r.link.Fault("EVALSHA", 1, f) }
}

// flushed makes the server forget its programs, and f befall the source that follows.
func flushed(f redistest.Fault) func(*rig) {
	return func(r *rig) {
		r.do("SCRIPT", "FLUSH")
		r.link.Fault("EVAL", 1, f)
	}
}

// handshake strikes every handshake to come and ends the connections there are.
func handshake(f redistest.Fault) func(*rig) {
	return func(r *rig) {
		r.link.Fault("HELLO", -1, f)
		r.link.Cut()
	}
}

func TestTable_everyRowAsTheServerCountsIt(t *testing.T) {
	shared := redistest.Start(t)
	for _, row := range strikes {
		t.Run(row.sentence, func(t *testing.T) {
			t.Parallel()
			server := shared
			if row.sources > 0 || strings.Contains(row.sentence, "its source") {
				server = redistest.Start(t) // others need their programs
			}
			steady := newRig(t, server)
			for _, f := range forms {
				r, who := newRig(t, server, failures(never), func(c *duallog.Config) {
					if row.timeout > 0 {
						c.Redis.CommandTimeout = row.timeout
					}
				}), newSubject()
				steady.expect(dual, who, allowed(dual, 1, 1))
				sent, sources := r.link.Forwarded("EVALSHA"), r.link.Forwarded("EVAL")
				row.strike(r)
				tenant, user := 1+row.charged, 1
				if f.name == dual.name {
					user += row.charged
				}
				want := row.want
				if want == counted {
					want = allowed(f, tenant, user)
				}
				r.expect(f, who, want)
				r.expectCharged(who, tenant, user)
				if got := r.link.Forwarded("EVALSHA") - sent; got != row.sent {
					t.Errorf("%s call: the server got it %d times, want %d", f, got, row.sent)
				}
				if got := r.link.Forwarded("EVAL") - sources; got != row.sources {
					t.Errorf("%s call: the server got its source %d times, want %d", f, got, row.sources)
				}
				r.link.Heal()
				if row.sentence != "the limiter is closed" {
					r.eventually("recover", func() bool { return strings.HasPrefix(r.ask(f, newSubject()), "allowed") })
				}
				steady.expect(dual, who, allowed(dual, tenant+1, user+1))
			}
		})
	}
}
