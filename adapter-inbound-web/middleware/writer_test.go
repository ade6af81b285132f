package middleware_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/internal/edgetest"
)

// plain is a writer with no optional interface.
type plain struct {
	http.ResponseWriter
	header http.Header
}

func (p *plain) Header() http.Header         { return p.header }
func (p *plain) Write(b []byte) (int, error) { return len(b), nil }
func (p *plain) WriteHeader(int)             {}

type hijackable struct{ *plain }

func (hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, http.ErrHijacked }

type flushHijackable struct{ hijackable }

func (flushHijackable) Flush() {}

type flushPushable struct{ *plain }

func (flushPushable) Flush()                               {}
func (flushPushable) Push(string, *http.PushOptions) error { return nil }

func TestWriter_claimsOnlyWhatLiesBelow(t *testing.T) {
	for _, row := range []struct {
		below                    http.ResponseWriter
		flushes, hijacks, pushes bool
	}{
		{&plain{header: http.Header{}}, false, false, false},
		{hijackable{&plain{header: http.Header{}}}, false, true, false},
		{flushHijackable{hijackable{&plain{header: http.Header{}}}}, true, true, false},
		{flushPushable{&plain{header: http.Header{}}}, true, false, true},
		{httptest.NewRecorder(), true, false, false},
	} {
		guarded(t, edgetest.Always(edgetest.Allowed(10, 9)), func(w http.ResponseWriter, _ *http.Request) {
			_, flushes := w.(http.Flusher)
			_, hijacks := w.(http.Hijacker)
			_, pushes := w.(http.Pusher)
			_, reads := w.(io.ReaderFrom)
			if flushes != row.flushes || hijacks != row.hijacks || pushes != row.pushes || reads {
				t.Errorf("over %T: flushes %v, hijacks %v, pushes %v, reads %v", row.below, flushes, hijacks, pushes, reads)
			}
			if u, unwraps := w.(interface{ Unwrap() http.ResponseWriter }); !unwraps || u.Unwrap() != row.below {
				t.Errorf("over %T: does not unwrap to it", row.below)
			}
		}).ServeHTTP(row.below, httptest.NewRequest(http.MethodGet, "/", nil))
	}
}

func TestWriter_aHijackThatFailsSendsNothing(t *testing.T) {
	below := hijackable{&plain{header: http.Header{}}}
	guarded(t, edgetest.Always(edgetest.Allowed(10, 9)), func(w http.ResponseWriter, _ *http.Request) {
		if _, _, err := http.NewResponseController(w).Hijack(); err == nil {
			t.Error("the writer below refuses, and still hijacking works")
		}
		upstreamClaims(w, nil)
		w.WriteHeader(http.StatusInternalServerError)
		if got := rateLines(below.header); got != tenLeftNine {
			t.Errorf("sent with %s, want %s", got, tenLeftNine)
		}
	}).ServeHTTP(below, httptest.NewRequest(http.MethodGet, "/", nil))
}

// TestWriter_whatSendsNothingLetsNothingThrough: a handler that tried to send, and
// could not, sets headers afterwards.
func TestWriter_whatSendsNothingLetsNothingThrough(t *testing.T) {
	for sentence, try := range map[string]func(w http.ResponseWriter){
		"a copy of nothing": func(w http.ResponseWriter) { _, _ = io.Copy(w, struct{ io.Reader }{strings.NewReader("")}) },
		"an early hint":     func(w http.ResponseWriter) { w.WriteHeader(http.StatusEarlyHints) },
	} {
		server := allowing(t, func(w http.ResponseWriter, _ *http.Request) {
			try(w)
			upstreamClaims(w, nil)
			w.WriteHeader(http.StatusBadGateway)
		})
		res, err := http.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if got := rateLines(res.Header); res.StatusCode != http.StatusBadGateway || got != tenLeftNine {
			t.Errorf("after %s: got %d, %s; want 502, %s", sentence, res.StatusCode, got, tenLeftNine)
		}
	}
}

func TestWriter_aFlushThatFailsSendsNothing(t *testing.T) {
	below := &plain{header: http.Header{}}
	guarded(t, edgetest.Always(edgetest.Allowed(10, 9)), func(w http.ResponseWriter, _ *http.Request) {
		if err := http.NewResponseController(w).Flush(); err == nil {
			t.Error("the writer below cannot flush, and still flushing works")
		}
		upstreamClaims(w, nil)
		w.WriteHeader(http.StatusInternalServerError)
		if got := rateLines(below.header); got != tenLeftNine {
			t.Errorf("sent with %s, want %s", got, tenLeftNine)
		}
	}).ServeHTTP(below, httptest.NewRequest(http.MethodGet, "/", nil))
}
