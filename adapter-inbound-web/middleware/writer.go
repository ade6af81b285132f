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
	case flushes && hijacks && readsFrom: // HTTP/1
		return struct {
			*writer
			flusher
			hijacker
			readerFrom
		}{w, flusher{w}, hijacker{w}, readerFrom{w}}
	case flushes && pushes: // HTTP/2
		return struct {
			*writer
			flusher
			pusher
		}{w, flusher{w}, pusher{w}}
	case flushes && hijacks:
		return struct {
			*writer
			flusher
			hijacker
		}{w, flusher{w}, hijacker{w}}
	case flushes:
		return struct {
			*writer
			flusher
		}{w, flusher{w}}
	case hijacks:
		return struct {
			*writer
			hijacker
		}{w, hijacker{w}}
	default:
		return w
	}
}

type flusher struct{ to *writer }

func (f flusher) Flush() {
	f.to.commit()
	f.to.ResponseWriter.(http.Flusher).Flush()
}

// hijacker puts the fields into the header map once more: a reverse proxy writes
// the head of an upgrade from it. Nothing is sent yet, and hijacking may fail.
type hijacker struct{ to *writer }

func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	h.to.prepare()
	return h.to.ResponseWriter.(http.Hijacker).Hijack()
}

type readerFrom struct{ to *writer }

func (r readerFrom) ReadFrom(src io.Reader) (int64, error) {
	r.to.prepare()
	n, err := r.to.ResponseWriter.(io.ReaderFrom).ReadFrom(src)
	r.to.sent = r.to.sent || n > 0
	return n, err
}

type pusher struct{ to *writer }

func (p pusher) Push(target string, opts *http.PushOptions) error {
	return p.to.ResponseWriter.(http.Pusher).Push(target, opts)
}
