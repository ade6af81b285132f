package metrics_test

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/middleware"
	"github.com/edgelimit/edgelimit/app-bootstrap/internal/metrics"
)

func TestInbound_countsTheFirstThousandTenantsByName(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	inbound := metrics.NewInbound(registry, true)
	for round := range 2 {
		for n := range 1500 {
			inbound.Rejected(fmt.Sprintf("tenant-%d", n), middleware.LayerUser)
		}
		if got, err := testutil.GatherAndCount(registry, "hermes_rate_limit_rejected_total"); err != nil || got != 1001 {
			t.Errorf("round %d: %d series, %v, want 1000 tenants and the others", round, got, err)
		}
	}
	inbound.Rejected("\xff\xfe", middleware.LayerBoth) // must not panic
}

func TestInbound_anAddressTakesNoTenantsPlace(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	inbound := metrics.NewInbound(registry, false)
	for n := range 1000 {
		inbound.Rejected("", middleware.LayerIP)
		inbound.Rejected(fmt.Sprintf("tenant-%d", n), middleware.LayerTenant)
	}
	inbound.Rejected("one too many", middleware.LayerTenant)
	inbound.Rejected("", middleware.LayerIP)
	// The tenants, the addresses together, and the others.
	if got, err := testutil.GatherAndCount(registry, "hermes_rate_limit_rejected_total"); err != nil || got != 1002 {
		t.Errorf("got %d series, %v, want 1002", got, err)
	}
}
