package redistest

import (
	"bytes"
	"time"
)

// Fault is what happens to one request on a Link. The zero value is Pass. Each constructor says whether the server
// runs the command, what the client sees, and what becomes of the connection.
type Fault struct {
	act   act
	late  time.Duration
	reply []byte
}

type act uint8

const (
	pass act = iota
	loseReply
	halfReply
	resetBefore
	resetAfter
	silence
	swallow
	delay
	replace
)

// Pass lets the request and its reply through. Set before another fault of the same command, it says which request
// the other one meets: two of Pass and one of LoseReply lose the third reply.
func Pass() Fault { return Fault{} }

// LoseReply lets the server run the command, then eats the reply and closes the client's connection.
func LoseReply() Fault { return Fault{act: loseReply} }

// HalfReply lets the server run the command, passes on the first half of the reply's bytes, rounded down, and closes
// the client's connection.
func HalfReply() Fault { return Fault{act: halfReply} }

// ResetBefore resets the client's connection (RST) instead of forwarding the request: the server never sees it.
func ResetBefore() Fault { return Fault{act: resetBefore} }

// ResetAfter lets the server run the command, waits for the reply, and resets the client's connection (RST) in place
// of passing it on.
func ResetAfter() Fault { return Fault{act: resetAfter} }

// Silence lets the server run the command and eats the reply. The connection stays open and mute for good, even over
// Heal: later requests still run, and nothing is answered.
func Silence() Fault { return Fault{act: silence} }

// Swallow keeps the request from the server. The connection stays open and deaf for good, even over Heal: as nothing
// overtakes in a TCP stream, later requests are swallowed too, while replies to earlier ones still arrive.
func Swallow() Fault { return Fault{act: swallow} }

// Delay lets the server run the command and passes the reply on d after it arrived. Replies behind it on the same
// connection keep their order, and so wait for it; delays of pipelined replies run at the same time.
func Delay(d time.Duration) Fault { return Fault{act: delay, late: d} }

// Replace lets the server run the command and gives the client these bytes, which need not be RESP, in place of the
// reply. The connection goes on. Replace(nil) eats the reply, so that the next one stands in its place.
func Replace(reply []byte) Fault { return Fault{act: replace, reply: bytes.Clone(reply)} }

func (f Fault) forwards() bool { return f.act != swallow && f.act != resetBefore }

// rule is a fault and how many requests are still to meet it; below zero, all of them.
type rule struct {
	command string
	left    int
	fault   Fault
}

func (r *rule) take(command string) bool {
	if r.left == 0 || r.command != "" && r.command != command {
		return false
	}
	if r.left > 0 {
		r.left--
	}
	return true
}
