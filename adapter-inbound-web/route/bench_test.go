package route_test

import (
	"testing"

	"github.com/edgelimit/edgelimit/adapter-inbound-web/route"
)

func benchTable(t testing.TB) route.Table {
	t.Helper()
	table, err := route.NewTable(route.Config{Policies: policies(t, "api", "search"), Default: "api", Rules: []route.Rule{
		{Path: "/search/*", Methods: []string{"GET"}, Policy: "search", Cost: 2},
		{Path: "/login", Policy: "search", Cost: 1},
		{Path: "/reports/*", Policy: "search", Cost: 5},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func BenchmarkMatch(b *testing.B) {
	table := benchTable(b)
	for _, row := range []struct{ name, path string }{
		{"by the first rule", "/search/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p"},
		{"by none", "/orders/4711/lines/7/of/the/second/page"},
		{"a slash at the end", "/orders/4711/lines/7/of/the/second/page/"},
	} {
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				table.Match("GET", row.path)
			}
		})
	}
}

func BenchmarkRawFault(b *testing.B) {
	for _, raw := range []string{"/orders/4711/lines/7/of/the/second/page", "/orders/caf%C3%A9/a%26b"} {
		u := target(b, raw)
		b.Run(raw, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				route.RawFault(u)
			}
		})
	}
}
