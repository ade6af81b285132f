package route_test

import (
	"testing"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/route"
)

func TestTable_matchAllocatesNothing(t *testing.T) {
	table := benchTable(t)
	for _, raw := range []string{"/orders/4711/lines/7/of/the/second/page", "/search/caf%C3%A9/a%26b/", "/"} {
		u := target(t, raw)
		got := testing.AllocsPerRun(1000, func() {
			if route.RawFault(u) == "" {
				table.Match("GET", u.Path)
			}
		})
		if got != 0 {
			t.Errorf("%s: %v allocations, want none", raw, got)
		}
	}
}
