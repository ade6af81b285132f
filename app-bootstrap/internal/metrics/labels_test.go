package metrics_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/middleware"
	"github.com/edgelimit/edgelimit/app-bootstrap/internal/metrics"
)

// A tenant's id is any text; what is scraped can be read all the same, each under a
// label of its own.
func TestInbound_scrapesWhateverATenantIsNamed(t *testing.T) {
	registry := prometheus.NewRegistry()
	inbound := metrics.NewInbound(registry, true)
	long := strings.Repeat("n", 300)
	for _, tenant := range []string{"a:b|c", `quote"`, `back\slash`, "new\nline", "ümlaut", "{a=\"b\"} 7", long} {
		inbound.Rejected(tenant, middleware.LayerUser)
	}
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer server.Close()
	const name = "hermes_rate_limit_rejected_total"
	if err := testutil.ScrapeAndCompare(server.URL, strings.NewReader(`
# HELP hermes_rate_limit_rejected_total Requests that the inbound-web limiter denied, by tenant and layer (tenant, user, both, ip).
# TYPE hermes_rate_limit_rejected_total counter
hermes_rate_limit_rejected_total{layer="user",tenant_id="a:b|c"} 1
hermes_rate_limit_rejected_total{layer="user",tenant_id="quote\""} 1
hermes_rate_limit_rejected_total{layer="user",tenant_id="back\\slash"} 1
hermes_rate_limit_rejected_total{layer="user",tenant_id="new\nline"} 1
hermes_rate_limit_rejected_total{layer="user",tenant_id="ümlaut"} 1
hermes_rate_limit_rejected_total{layer="user",tenant_id="{a=\"b\"} 7"} 1
hermes_rate_limit_rejected_total{layer="user",tenant_id="`+long+`"} 1
`), name); err != nil {
		t.Error(err)
	}
}
