// Package gateway is the reverse proxy in front of one upstream. It forwards
// paths, bodies, streams and upgrades as they are, and tells the upstream only
// what is known of the client.
//
// The one rule that matters: what an untrusted peer claims about itself or
// another does not reach the upstream.
package gateway

import (
	"context"
	"errors"
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
			DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSHandshakeTimeout: dialTimeout,
			MaxIdleConnsPerHost: idleConnections,
			IdleConnTimeout:     idleTimeout,
			DisableCompression:  true, // the client's own Accept-Encoding decides
			ForceAttemptHTTP2:   true,
		},
		FlushInterval:  -1,
		ModifyResponse: c.ModifyResponse,
		ErrorHandler:   func(w http.ResponseWriter, r *http.Request, err error) { unreachable(c.Logger, w, r, err) },
		ErrorLog:       slog.NewLogLogger(c.Logger.Handler(), slog.LevelDebug),
	}
}

// unreachable answers for an upstream that did not.
func unreachable(logger *slog.Logger, w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // the client has gone
	}
	logger.Warn("upstream failed", "error", err)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		answer.Refuse(http.StatusGatewayTimeout, "The upstream did not answer in time.").Write(w)
		return
	}
	answer.Refuse(http.StatusBadGateway, "The upstream did not answer.").Write(w)
}
