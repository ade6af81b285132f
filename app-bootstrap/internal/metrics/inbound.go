package metrics

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/middleware"
)

// mostTenants is how many tenants are labels of their own; later ones are "other".
const mostTenants = 1000

// Inbound counts what the inbound-web limiter does. It is a
// [middleware.Observer].
type Inbound struct {
	rejected          *prometheus.CounterVec
	fallbacks         *prometheus.CounterVec
	failures          *prometheus.CounterVec
	chargedThenDenied prometheus.Counter

	mu      sync.Mutex
	tenants map[string]bool
}

// NewInbound makes an Inbound that r shows. With localFallback it also shows that
// the risk of limits counted per replica is accepted.
func NewInbound(r prometheus.Registerer, localFallback bool) *Inbound {
	i := &Inbound{
		rejected: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hermes_rate_limit_rejected_total",
			Help: "Requests that the inbound-web limiter denied, by tenant and layer (tenant, user, both, ip).",
		}, []string{"tenant_id", "layer"}),
		fallbacks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "inbound_fallbacks_total",
			Help: "Requests decided by the local fallback, by the reason that Redis did not decide.",
		}, []string{"reason"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "inbound_failures_total",
			Help: "Requests that the inbound-web limiter neither allowed nor denied, by reason.",
		}, []string{"reason"}),
		chargedThenDenied: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "charged_then_denied_total",
			Help: "Requests that the edge port allowed and charged, and the inbound-web limiter denied.",
		}),
		tenants: map[string]bool{},
	}
	accepted := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "inbound_replica_limits_accepted",
		Help: "1 if each replica counts alone during an outage of the inbound-web Redis, so that limits then hold per replica.",
	})
	accepted.Set(one(localFallback))
	r.MustRegister(i.rejected, i.fallbacks, i.failures, i.chargedThenDenied, accepted)
	return i
}

// Rejected implements [middleware.Observer].
func (i *Inbound) Rejected(tenant string, layer middleware.Layer) {
	i.rejected.WithLabelValues(i.label(tenant), string(layer)).Inc()
}

// FellBack implements [middleware.Observer].
func (i *Inbound) FellBack(reason string) { i.fallbacks.WithLabelValues(reason).Inc() }

// Failed implements [middleware.Observer].
func (i *Inbound) Failed(reason string) { i.failures.WithLabelValues(reason).Inc() }

// ChargedThenDenied implements [middleware.Observer].
func (i *Inbound) ChargedThenDenied() { i.chargedThenDenied.Inc() }

// label is the tenant's own label while there is room for it. A label is UTF-8,
// which an id need not be.
func (i *Inbound) label(tenant string) string {
	tenant = strings.ToValidUTF8(tenant, "\uFFFD")
	i.mu.Lock()
	defer i.mu.Unlock()
	if tenant != "" && !i.tenants[tenant] { // an address takes no tenant's place
		if len(i.tenants) >= mostTenants {
			return "other"
		}
		i.tenants[tenant] = true
	}
	return tenant
}
