// Package admin serves what operators and their machines ask: liveness,
// readiness and metrics, and the decision endpoints where rate limiting is on.
package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/handler"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/coordination"
)

// Config is what the admin handler is made of.
type Config struct {
	Token     []byte // nil: none; the listener is then on loopback
	Registry  *prometheus.Registry
	Readiness *Readiness
	Decisions *handler.Decisions // nil: rate limiting is off
}

// New makes the admin handler.
func New(c Config) (http.Handler, error) {
	guard, err := handler.Admin(c.Token)
	if err != nil {
		return nil, fmt.Errorf("admin: %w", err)
	}
	r := chi.NewRouter()
	r.Use(guard)
	if c.Decisions != nil {
		r.Use(c.Decisions.Mount)
	}
	r.NotFound(handler.NotFound)
	r.Get("/healthz", alive)
	r.Head("/healthz", alive)
	r.Get("/readyz", c.Readiness.ServeHTTP)
	r.Head("/readyz", c.Readiness.ServeHTTP)
	r.Method(http.MethodGet, "/metrics", promhttp.HandlerFor(c.Registry, promhttp.HandlerOpts{}))
	return r, nil
}

func alive(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("alive\n"))
}

// Readiness answers 200 while requests can be served, else 503, and says in words
// what is missing. The zero Readiness is that of a process without rate limiting.
type Readiness struct {
	Endpoint   string     // of the coordination Redis, redacted
	Connection Connection // nil: rate limiting is off

	InboundEndpoint string     // of the inbound-web Redis, redacted
	Inbound         Connection // nil: the inbound-web limiter is off, or local
	InboundNeeded   bool       // without that Redis requests fail, so the process is not ready

	draining atomic.Bool
}

// Connection is what readiness asks of the coordination client.
type Connection interface {
	Health() coordination.Health
	Breaker() string
}

// Drain makes the process not ready for good.
func (r *Readiness) Drain() { r.draining.Store(true) }

type readyView struct {
	Ready        bool       `json:"ready"`
	Draining     bool       `json:"draining,omitempty"`
	RateLimit    string     `json:"rateLimit"`
	Coordination *redisView `json:"coordination,omitempty"`
	InboundWeb   *redisView `json:"inboundWeb,omitempty"`
}

type redisView struct {
	Ready    bool     `json:"ready"`
	Endpoint string   `json:"endpoint"`
	Version  string   `json:"version,omitempty"`
	Breaker  string   `json:"breaker"`
	Problems []string `json:"problems"`
	Warnings []string `json:"warnings"`
}

// ServeHTTP implements http.Handler.
func (r *Readiness) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	view := r.view()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !view.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(view)
}

func (r *Readiness) view() readyView {
	view := readyView{Draining: r.draining.Load(), RateLimit: "disabled"}
	view.Ready = !view.Draining
	if r.Connection != nil {
		view.RateLimit = "enabled"
		view.Coordination = viewOf(r.Connection, r.Endpoint)
		view.Ready = view.Ready && view.Coordination.Ready
	}
	if r.Inbound != nil {
		view.InboundWeb = viewOf(r.Inbound, r.InboundEndpoint)
		view.Ready = view.Ready && (view.InboundWeb.Ready || !r.InboundNeeded)
	}
	return view
}

func viewOf(c Connection, endpoint string) *redisView {
	health := c.Health()
	return &redisView{
		Ready: health.Ready, Endpoint: endpoint, Version: health.Version, Breaker: c.Breaker(),
		Problems: append([]string{}, health.Problems...), Warnings: append([]string{}, health.Warnings...),
	}
}
