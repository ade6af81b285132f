package coordination

import (
	"bytes"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/certainty"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/program"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/internal/reply"
)

// group is calls that are sent together: each a command of its own, or several of
// one Batch one command together. Who holds its connection owns it; it is used anew
// for every group.
type group struct {
	commands []command
	bySource bool   // EVAL in place of EVALSHA
	out      []byte // the commands as they are sent
	in       []byte // what has come; the results keep it
	read     int    // bytes of in that are replies taken
	answered int    // commands whose reply is complete
	err      error  // why the next one has none
}

// command is one EVALSHA or EVAL of a group.
type command struct {
	jobs []*job // more than one: of one Batch
	from int    // its first byte in out
	raw  []byte // its reply, once complete
}

const (
	roomPerDecision = 128 // bytes that a usual reply fits
	mostPerDecision = 512 // and an error of one decision of a batch

	// mostKept is how many bytes of out a connection keeps for its next group. A usual
	// group by SHA fits; one by source, which is rare, takes far more, and there are many
	// connections.
	mostKept = 64 << 10
)

// forget lets go of the calls that have ended, and of what only a large group needs.
func (g *group) forget() {
	for i := range g.commands {
		c := &g.commands[i]
		clear(c.jobs)
		c.raw = nil
	}
	g.commands, g.bySource, g.in = g.commands[:0], false, nil
	if cap(g.out) > mostKept {
		g.out = nil
	}
}

// add takes in a call, by a command of its own or together with the others of its
// Batch.
func (g *group) add(j *job, together bool) {
	if together && j.call.Batch != nil {
		for i := range g.commands {
			c := &g.commands[i]
			if c.jobs[0].call.Batch == j.call.Batch && len(c.jobs) < program.MaxBatch {
				c.jobs = append(c.jobs, j)
				return
			}
		}
	}
	if n := len(g.commands); n < cap(g.commands) {
		g.commands = g.commands[:n+1]
		g.commands[n] = command{jobs: append(g.commands[n].jobs[:0], j)}
		return
	}
	g.commands = append(g.commands, command{jobs: []*job{j}})
}

// encode makes the commands ready to be sent.
func (g *group) encode() {
	g.out, g.read, g.answered, g.err = g.out[:0], 0, 0, nil
	decisions := 0
	for i := range g.commands {
		c := &g.commands[i]
		c.from = len(g.out)
		g.out = c.appendTo(g.out, g.bySource)
		decisions += len(c.jobs)
	}
	g.in = make([]byte, 0, roomPerDecision*decisions)
}

// appendTo appends c as RESP.
func (c *command) appendTo(out []byte, bySource bool) []byte {
	first := &c.jobs[0].call
	run, shared, keys, more := &first.Program, first.Args, first.Program.Keys, 0
	if len(c.jobs) > 1 {
		run, shared, keys, more = &first.Batch.Program, first.Batch.Shared, len(c.jobs), len(c.jobs)
	}
	verb, text := "EVALSHA", run.SHA
	if bySource {
		verb, text = "EVAL", run.Source
	}
	out = appendSize(out, '*', 3+keys+len(shared)+more)
	out = appendText(out, verb)
	out = appendText(out, text)
	out = appendText(out, strconv.Itoa(keys))
	for _, j := range c.jobs {
		for _, key := range j.call.keys() {
			out = appendText(out, key)
		}
	}
	for _, arg := range shared {
		out = appendText(out, arg)
	}
	for _, j := range c.jobs[:more] {
		out = appendText(out, j.call.Args[len(j.call.Args)-1])
	}
	return out
}

func appendText(out []byte, s string) []byte {
	out = appendSize(out, '$', len(s))
	out = append(out, s...)
	return append(out, "\r\n"...)
}

func appendSize(out []byte, kind byte, n int) []byte {
	out = strconv.AppendInt(append(out, kind), int64(n), 10)
	return append(out, "\r\n"...)
}

// timeout is what the longest call of the group may take. Who may take less leaves
// by himself.
func (g *group) timeout() time.Duration {
	longest := time.Duration(0)
	for i := range g.commands {
		for _, j := range g.commands[i].jobs {
			longest = max(longest, j.terms.timeout())
		}
	}
	return longest
}

// receive reads the replies that are missing, until w fails. It can go on after w
// was interrupted.
func (g *group) receive(w *wire) {
	g.err = nil
	for g.answered < len(g.commands) {
		c := &g.commands[g.answered]
		rest := g.in[g.read:]
		n, err := reply.FrameLen(rest)
		switch {
		case err == nil && rest[0] == '>': // a push is no reply
			g.read += n
		case err == nil && n > c.mostBytes():
			g.err = reply.ErrTooLong
			return
		case err == nil:
			c.raw = rest[:n:n]
			g.read += n
			g.answered++
		case err != reply.ErrIncomplete || len(rest) > c.mostBytes():
			g.err = err
			return
		default:
			if g.err = g.fill(w); g.err != nil {
				return
			}
		}
	}
}

// mostBytes bounds the reply to c.
func (c *command) mostBytes() int { return max(reply.MaxBytes, mostPerDecision*len(c.jobs)) }

// fill reads once.
func (g *group) fill(w *wire) error {
	if len(g.in) == cap(g.in) {
		g.in = append(bytes.Clone(g.in), make([]byte, len(g.in)+roomPerDecision)...)[:len(g.in)]
	}
	n, err := w.Read(g.in[len(g.in):cap(g.in)])
	g.in = g.in[:len(g.in)+n]
	if n > 0 {
		return nil
	}
	return err
}

// settle notes the result of each call. Of a group that broke, the commands before
// have been answered, and those whose first byte did not leave have not run. It
// answers false if the connection must not be used again.
func (g *group) settle(w *wire) (usable bool) {
	usable = g.err == nil && g.read == len(g.in)
	for i := range g.commands {
		c := &g.commands[i]
		if i < g.answered {
			usable = c.settle() && usable
			continue
		}
		c.each(resultOf(nil, &sendError{
			written:    w.written && (c.from == 0 || c.from < w.sent),
			timedOut:   w.timedOut(),
			unreadable: i == g.answered && w.written && w.failed == nil,
			err:        g.err,
		}))
	}
	return usable
}

func (c *command) each(r certainty.Result) {
	for _, j := range c.jobs {
		j.result = r
	}
}

// settle notes what a reply that is complete says to each call.
func (c *command) settle() (usable bool) {
	whole := certainty.Result{Fate: certainty.Answered, Raw: c.raw}
	if _, failed := reply.AsServerError(c.raw); failed || len(c.jobs) == 1 {
		c.each(whole)
		return !whole.IsReadOnly()
	}
	parts, err := reply.Split(c.raw, len(c.jobs))
	if err != nil {
		c.each(certainty.Result{Fate: certainty.Answered, Err: err})
		return false
	}
	usable = true
	for _, j := range c.jobs {
		j.result = certainty.Result{Fate: certainty.Answered, Raw: parts.Next()}
		usable = usable && !j.result.IsReadOnly()
	}
	return usable
}

// unrun tells whether a call's reply proves that it did not run for the form in which
// it was sent: by the digest of a program that the server does not know, or in a batch
// of keys of several slots, on a server that has slots.
func (c *command) unrun(j *job) bool {
	code := codeOf(j.result)
	return code == "NOSCRIPT" || code == "CROSSSLOT" && len(c.jobs) > 1
}

// unsend makes the calls that did not run ones that were not sent.
func (g *group) unsend() {
	for i := range g.commands {
		c := &g.commands[i]
		for _, j := range c.jobs {
			if c.unrun(j) {
				j.result = resultOf(nil, errBroken)
			}
		}
	}
}

// keepUnrun leaves in the group the calls that did not run, to be sent by their
// source, and those of several slots one by one, while their terms leave time for it.
// It answers false if there are none.
func (g *group) keepUnrun(apart *atomic.Bool) bool {
	again := group{bySource: true}
	for i := range g.commands {
		c := &g.commands[i]
		for _, j := range c.jobs {
			if !c.unrun(j) {
				continue
			}
			if codeOf(j.result) == "CROSSSLOT" {
				apart.Store(true)
			}
			if !j.terms.leaveTime(j.ctx) {
				j.result = certainty.Result{Fate: certainty.Refused, Refusal: certainty.Deadline, Err: errShortDeadline}
				continue
			}
			again.add(j, len(c.jobs) > 1 && !apart.Load())
		}
	}
	if len(again.commands) == 0 {
		return false
	}
	g.commands, g.bySource = again.commands, true
	return true
}
