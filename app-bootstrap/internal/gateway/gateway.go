// Package gateway is the reverse proxy in front of one upstream. It forwards
// paths, bodies, streams and upgrades as they are, and tells the upstream only
// what is known of the client.
//
// The one rule that matters: what an untrusted peer claims about itself or
// another does not reach the upstream.
package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/answer"
	"github.com/edgelimit/edgelimit/adapter-inbound-web/identity"
)

// Config is what a gateway is made of.
type Config struct {
	Upstream *url.URL
	Resolver identity.Resolver
	// ModifyResponse, if set, sees every response of the upstream first.
	ModifyResponse func(*http.Response) error
	Logger         *slog.Logger
}

const (
	dialTimeout     = 5 * time.Second
	idleConnections = 256
	idleTimeout     = 90 * time.Second
	headerTimeout   = 5 * time.Minute // for an upstream that hangs; bodies and streams are not bounded
)

// New makes the gateway. The client's Host is kept; a body or a response flows on
// as it comes.
func New(c Config) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.SetURL(c.Upstream)
			pr.Out.Host = pr.In.Host
			pr.Out.URL.RawQuery = pr.In.URL.RawQuery
			c.Resolver.Forward(pr.Out.Header, pr.In)
		},
		Transport: &http.Transport{
			DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSHandshakeTimeout:   dialTimeout,
			ResponseHeaderTimeout: headerTimeout,
			MaxIdleConnsPerHost:   idleConnections,
			IdleConnTimeout:       idleTimeout,
			DisableCompression:    true, // the client's own Accept-Encoding decides
			ForceAttemptHTTP2:     true,
		},
		FlushInterval:  -1,
		BufferPool:     &buffers{},
		ModifyResponse: c.ModifyResponse,
		ErrorHandler:   func(w http.ResponseWriter, r *http.Request, err error) { unreachable(c.Logger, w, r, err) },
		ErrorLog:       log.New(cutShort{c.Logger}, "", 0),
	}
}

// unreachable answers for an upstream that did not.
func unreachable(logger *slog.Logger, w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // the client has gone
	}
	logger.Warn("upstream failed", "error", reason(err))
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		answer.Refuse(http.StatusGatewayTimeout, "The upstream did not answer in time.").Write(w)
		return
	}
	answer.Refuse(http.StatusBadGateway, "The upstream did not answer.").Write(w)
}

// reason is what may be logged of err. Texts about a broken protocol repeat what
// the upstream sent, and that may repeat what its client sent.
func reason(err error) string {
	var network net.Error
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &certificate), errors.As(err, &record), errors.As(err, &network):
		return err.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ended before the answer"
	default:
		return "the answer breaks the protocol"
	}
}

// cutShort logs that the proxy gave up in the middle of a response, and not why,
// for the same cause.
type cutShort struct{ logger *slog.Logger }

// Write implements io.Writer.
func (c cutShort) Write(line []byte) (int, error) {
	c.logger.Debug("response cut short")
	return len(line), nil
}
