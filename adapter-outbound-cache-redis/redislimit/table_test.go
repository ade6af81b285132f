package redislimit_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
)

// reply is a raw reply of seven fields.
func reply(line string) []byte {
	words := strings.Fields(line)
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n$%d\r\n%s\r\n", len(words), len(words[0]), words[0])
	for _, word := range words[1:] {
		fmt.Fprintf(&b, ":%s\r\n", word)
	}
	return []byte(b.String())
}

// strikes are what can befall one evaluation on its way, over the link: what
// its caller hears, and what the server itself has charged for it.
var strikes = []struct {
	sentence string
	strike   func(l *redistest.Link)
	want     string
	charged  int64 // of strikeCost
	runs     int64 // EVALSHA that the server ran
}{
	{"nothing befalls it", func(*redistest.Link) {}, allowed(policyLimit - 1 - strikeCost), strikeCost, 1},
	{"the reply is lost", evalsha(redistest.LoseReply()), "indeterminate", strikeCost, 1},
	{"half the reply is lost", evalsha(redistest.HalfReply()), "indeterminate", strikeCost, 1},
	{"the connection is reset before the server sees it", evalsha(redistest.ResetBefore()), "indeterminate", 0, 0},
	{"the connection is reset in place of the reply", evalsha(redistest.ResetAfter()), "indeterminate", strikeCost, 1},
	{"the server runs it and falls silent", evalsha(redistest.Silence()), "indeterminate", strikeCost, 1},
	{"the network swallows it", evalsha(redistest.Swallow()), "indeterminate", 0, 0},
	{"the reply comes just in time", evalsha(redistest.Delay(commandTimeout / 2)), allowed(policyLimit - 1 - strikeCost), strikeCost, 1},
	{"the reply comes too late", evalsha(redistest.Delay(commandTimeout * 3 / 2)), "indeterminate", strikeCost, 1},
	{"the reply is garbage", evalsha(redistest.Replace([]byte("\x00\xff garbage\r\n"))), "incompatible REPLY", strikeCost, 1},
	{"the reply is a web page", evalsha(redistest.Replace([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))), "incompatible REPLY", strikeCost, 1},
	{"the reply is garbage without an end", evalsha(redistest.Replace([]byte("garbage"))), "indeterminate", strikeCost, 1},
	{"the reply is OK", evalsha(redistest.Replace([]byte("+OK\r\n"))), "incompatible REPLY", strikeCost, 1},
	{"the reply is an integer", evalsha(redistest.Replace([]byte(":1\r\n"))), "incompatible REPLY", strikeCost, 1},
	{"the reply is nil", evalsha(redistest.Replace([]byte("$-1\r\n"))), "incompatible REPLY", strikeCost, 1},
	{"the reply has six fields", evalsha(redistest.Replace(reply("ALLOWED 1000 1000 100 9 0"))), "incompatible REPLY", strikeCost, 1},
	{"the reply allows by another limit", evalsha(redistest.Replace(reply("ALLOWED 1000 1000 101 9 0 2000"))), "incompatible REPLY", strikeCost, 1},
	{"the reply allows with more left than the limit", evalsha(redistest.Replace(reply("ALLOWED 1000 1000 100 101 0 2000"))), "incompatible REPLY", strikeCost, 1},
	{"the reply has a number below zero", evalsha(redistest.Replace(reply("ALLOWED 1000 1000 100 -1 0 2000"))), "incompatible REPLY", strikeCost, 1},
	{"the reply announces two thousand million elements", evalsha(redistest.Replace([]byte("*2147483647\r\n"))), "indeterminate", strikeCost, 1},
	{"the reply announces two gigabytes", evalsha(redistest.Replace([]byte("$2147483647\r\n"))), "indeterminate", strikeCost, 1},
	{"the reply is a page too long", evalsha(redistest.Replace([]byte("$8192\r\n" + strings.Repeat("x", 8192) + "\r\n"))), "incompatible REPLY", strikeCost, 1},
	{"the reply is an error of a script", evalsha(redistest.Replace([]byte("-ERR user_script:1: attempt\r\n"))), "incompatible PROGRAM", strikeCost, 1},
	{"the reply is a blob error", evalsha(redistest.Replace([]byte("!10\r\nERR no one\r\n"))), "incompatible PROGRAM", strikeCost, 1},
	{"no connection can be had", func(l *redistest.Link) { l.Refuse(); l.Cut() }, "unavailable CONNECTION", 0, 0},
	{"the handshake is broken off", handshake(redistest.LoseReply()), "unavailable CONNECTION", 0, 0},
	{"the handshake is reset", handshake(redistest.ResetBefore()), "unavailable CONNECTION", 0, 0},
	{"the handshake is never answered", handshake(redistest.Silence()), "unavailable CONNECTION", 0, 0},
	{"the handshake is answered by garbage", handshake(redistest.Replace([]byte("garbage\r\n"))), "unavailable CONNECTION", 0, 0},
	{"the handshake says that the server loads", handshake(redistest.Replace([]byte("-LOADING Redis is loading\r\n"))), "unavailable SERVER", 0, 0},
	{"the handshake says that the server is full", handshake(redistest.Replace([]byte("-ERR max number of clients reached\r\n"))), "unavailable SERVER", 0, 0},
	{"the handshake refuses the password", handshake(redistest.Replace([]byte("-WRONGPASS invalid username-password pair\r\n"))), "unavailable CREDENTIALS", 0, 0},
	{"the handshake wants a password", handshake(redistest.Replace([]byte("-NOAUTH Authentication required.\r\n"))), "unavailable CREDENTIALS", 0, 0},
	{"the network takes everything", func(l *redistest.Link) { l.Blackhole() }, "indeterminate", 0, 0},
}

const strikeCost = 3

func evalsha(f redistest.Fault) func(*redistest.Link) {
	return func(l *redistest.Link) { l.Fault("EVALSHA", 1, f) }
}

// handshake strikes every handshake to come and ends the connections there are.
func handshake(f redistest.Fault) func(*redistest.Link) {
	return func(l *redistest.Link) {
		l.Fault("HELLO", -1, f)
		l.Cut()
	}
}

func TestTable_everyRowAsTheServerCountsIt(t *testing.T) {
	server := redistest.Start(t)
	for _, row := range strikes {
		t.Run(row.sentence, func(t *testing.T) {
			t.Parallel()
			for _, p := range policies(t) {
				r, who := newRig(t, server), subject()
				r.expect(p.ID(), who, 1, allowed(policyLimit-1))
				before := r.link.Forwarded("EVALSHA")
				row.strike(r.link)
				r.expect(p.ID(), who, strikeCost, row.want)
				r.expectCharged(p.ID(), who, 1+row.charged)
				if got := r.link.Forwarded("EVALSHA") - before; got != row.runs {
					t.Errorf("%s: %d evaluations reached the server, want %d", p.ID(), got, row.runs)
				}
				r.link.Heal()
				r.eventually("recover", func() bool { return strings.HasPrefix(say(r.evaluate(p.ID(), subject(), 1)), "allowed") })
				r.expect(p.ID(), who, 2, allowed(policyLimit-3-row.charged))
				r.expectCharged(p.ID(), who, 3+row.charged)
			}
		})
	}
}

// A length that the server announces allocates nothing.
func TestTable_announcedSizesAllocateNothing(t *testing.T) {
	server := redistest.Start(t)
	for _, announced := range []string{"*2147483647\r\n", "$2147483647\r\n", "*7\r\n$2147483647\r\n", "$536870911\r\n" + strings.Repeat("x", 1<<14)} {
		r := newRig(t, server, func(c *configChange) { c.Redis.CommandTimeout = 50 * time.Millisecond })
		r.link.Fault("EVALSHA", 1, redistest.Replace([]byte(announced)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		o := r.evaluate("fixed-window", subject(), 1)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 8<<20 || o.Allows() {
			t.Errorf("%.20q: got %s, and %d bytes allocated", announced, say(o), got)
		}
	}
}
