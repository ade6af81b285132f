package edgetest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
)

// Nowhere has the interfaces of an HTTP/1 server's writer, and sends nothing.
type Nowhere struct{ Sent http.Header }

// Header implements http.ResponseWriter.
func (w *Nowhere) Header() http.Header { return w.Sent }

// Write implements http.ResponseWriter.
func (w *Nowhere) Write(b []byte) (int, error) { return len(b), nil }

// WriteString implements io.StringWriter.
func (w *Nowhere) WriteString(s string) (int, error) { return len(s), nil }

// WriteHeader implements http.ResponseWriter.
func (w *Nowhere) WriteHeader(int) {}

// Flush implements http.Flusher.
func (w *Nowhere) Flush() {}

// Hijack implements http.Hijacker.
func (w *Nowhere) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return nil, nil, http.ErrNotSupported
}

// ReadFrom implements io.ReaderFrom.
func (w *Nowhere) ReadFrom(r io.Reader) (int64, error) { return io.Copy(io.Discard, r) }

// Allocations is how often call allocates once its pools are full: the least of many
// runs, because a pool forgets at random under the race detector.
func Allocations(call func()) float64 {
	least := testing.AllocsPerRun(1, call)
	for range 100 {
		least = min(least, testing.AllocsPerRun(1, call))
	}
	return least
}
