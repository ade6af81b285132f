package middleware

import (
	"bufio"
	"io"
	"net"
	"net/http"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/answer"
)

// writer puts the limiter's fields into the header at the moment at which it is
// sent, so that nothing set before survives. It is as transparent as that allows:
// see optional.
type writer struct {
	http.ResponseWriter
	told *told
	sent bool
}

// Unwrap lets http.ResponseController reach what lies below.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader sends the header. An informational response (1xx, but not 101,
// which is final) goes out without the limiter's fields.
func (w *writer) WriteHeader(status int) {
	if status >= 100 && status <= 199 && status != http.StatusSwitchingProtocols {
		w.inform(status)
		return
	}
	w.commit()
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(b []byte) (int, error) {
	w.commit()
	return w.ResponseWriter.Write(b)
}

// WriteString implements io.StringWriter.
func (w *writer) WriteString(s string) (int, error) {
	w.commit()
	return io.WriteString(w.ResponseWriter, s)
}

// FlushError is what http.ResponseController flushes by. Without it the
// controller would flush below, and send the header past commit.
func (w *writer) FlushError() error {
	w.prepare()
	err := http.NewResponseController(w.ResponseWriter).Flush()
	w.sent = w.sent || err == nil
	return err
}

// prepare makes the header ready for a call below that may send it, or nothing.
func (w *writer) prepare() {
	if !w.sent {
		w.told.setHeaders(w.Header())
	}
}

// commit makes the header ready for a call below that sends it.
func (w *writer) commit() {
	w.prepare()
	w.sent = true
}

// inform puts the fields back after the informational response: a handler that
// hijacks the connection next writes the header from the map.
func (w *writer) inform(status int) {
	if w.sent {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	answer.Strip(w.Header())
	w.ResponseWriter.WriteHeader(status)
	w.told.setHeaders(w.Header())
}

// optional is w with the optional interfaces of the writer below, in the
// combinations that servers have, and never with one that it lacks.
func (w *writer) optional() http.ResponseWriter {
	_, flushes := w.ResponseWriter.(http.Flusher)
	_, hijacks := w.ResponseWriter.(http.Hijacker)
	_, readsFrom := w.ResponseWriter.(io.ReaderFrom)
	_, pushes := w.ResponseWriter.(http.Pusher)
	switch {
	case flushes && hijacks && readsFrom:
		return http1{flushHijacker{flusher{w}}}
	case flushes && pushes:
		return http2{flusher{w}}
	case flushes && hijacks:
		return flushHijacker{flusher{w}}
	case flushes:
		return flusher{w}
	case hijacks:
		return hijacker{w}
	default:
		return w
	}
}

// Each of these is one pointer, which goes into an interface without an allocation.
type (
	flusher       struct{ *writer }
	hijacker      struct{ *writer }
	flushHijacker struct{ flusher }
	http1         struct{ flushHijacker }
	http2         struct{ flusher }
)

func (w flusher) Flush() {
	w.commit()
	w.ResponseWriter.(http.Flusher).Flush()
}

// Hijack puts the fields into the header map once more: a reverse proxy writes
// the head of an upgrade from it. Nothing is sent yet, and hijacking may fail.
func (w hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.prepare()
	return w.ResponseWriter.(http.Hijacker).Hijack()
}

func (w flushHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return hijacker{w.writer}.Hijack()
}

func (w http1) ReadFrom(src io.Reader) (int64, error) {
	w.prepare()
	n, err := w.ResponseWriter.(io.ReaderFrom).ReadFrom(src)
	w.sent = w.sent || n > 0
	return n, err
}

func (w http2) Push(target string, opts *http.PushOptions) error {
	return w.ResponseWriter.(http.Pusher).Push(target, opts)
}
