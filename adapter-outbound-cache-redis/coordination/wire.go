package coordination

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// wire is one network connection that remembers what happened on it. It is used
// by one goroutine at a time.
type wire struct {
	net.Conn
	until   time.Time // no read or write goes beyond; zero is no bound
	written bool      // since begin, the first byte may have left
	sent    int       // since begin, the bytes that have left
	failed  error     // since begin, the first read or write error
	first   []byte    // what the server said first of all
	peek    peek

	// A ctx may interrupt reads.
	mu        sync.Mutex
	hooked    int  // counts such ctxs; the last one may
	interrupt bool // it has ended
}

const firstBytes = 128

// begin starts the account of one command, bounded by timeout.
func (w *wire) begin(timeout time.Duration) {
	w.until, w.written, w.sent, w.failed = time.Now().Add(timeout), false, 0, nil
}

// send writes p, unless the server has closed the connection or spoken unasked:
// then nothing is written.
func (w *wire) send(p []byte) error {
	if err := w.quiet(); err != nil {
		return w.note(err)
	}
	w.mu.Lock()
	_ = w.Conn.SetWriteDeadline(w.until)
	if !w.interrupt {
		_ = w.Conn.SetReadDeadline(w.until)
	}
	w.mu.Unlock()
	_, err := w.Write(p)
	return err
}

// interruptedBy makes the end of ctx interrupt the reads of w until the function that
// it returns is called.
func (w *wire) interruptedBy(ctx context.Context) (unhook func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.interrupt, w.hooked = false, w.hooked+1
	hooked := w.hooked
	stop := context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.hooked == hooked {
			w.interrupt = true
			_ = w.Conn.SetReadDeadline(time.Unix(1, 0))
		}
	})
	return func() {
		if !stop() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.hooked++
			w.interrupt = false
		}
	}
}

// interrupted tells whether a read ended because of the ctx, and not of the wire. It
// is then as if the read had not been.
func (w *wire) interrupted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.interrupt || !w.timedOut() || !time.Now().Before(w.until) {
		return false
	}
	w.failed = nil
	w.hooked++
	return true
}

// resume lets reads go on to the end that begin gave them.
func (w *wire) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.interrupt = false
	_ = w.Conn.SetReadDeadline(w.until)
}

func (w *wire) timedOut() bool { return errors.Is(w.failed, os.ErrDeadlineExceeded) }

func (w *wire) Write(p []byte) (int, error) {
	w.written = true
	n, err := w.Conn.Write(p)
	w.sent += n
	return n, w.note(err)
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if w.first == nil && n > 0 {
		w.first = bytes.Clone(p[:min(n, firstBytes)])
	}
	return n, w.note(err)
}

func (w *wire) note(err error) error {
	if err != nil && w.failed == nil {
		w.failed = err
	}
	return err
}

// The client's own deadlines cannot exceed the wire's.

func (w *wire) SetDeadline(t time.Time) error      { return w.Conn.SetDeadline(w.bounded(t)) }
func (w *wire) SetReadDeadline(t time.Time) error  { return w.Conn.SetReadDeadline(w.bounded(t)) }
func (w *wire) SetWriteDeadline(t time.Time) error { return w.Conn.SetWriteDeadline(w.bounded(t)) }

func (w *wire) bounded(t time.Time) time.Time {
	if !w.until.IsZero() && (t.IsZero() || t.After(w.until)) {
		return w.until
	}
	return t
}

// watchedWire lets the client see, at checkout, that the server has closed the
// connection.
type watchedWire struct {
	*wire
	socket syscall.Conn
}

// SyscallConn implements syscall.Conn.
func (w watchedWire) SyscallConn() (syscall.RawConn, error) { return w.socket.SyscallConn() }
