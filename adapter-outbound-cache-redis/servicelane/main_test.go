package main

import (
	"io"
	"reflect"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
)

func TestPlan_aServerThatRunsIsAskedAndNotHarmed(t *testing.T) {
	whole := []pass{{2, []string{"promises", "faults", "history"}}, {3, []string{"promises", "faults"}}}
	asked := []pass{{2, []string{"promises"}}, {3, []string{"promises"}}}
	brief := []pass{whole[0], asked[1]}
	for _, row := range []struct {
		source server.Source
		only   string
		brief  bool
		want   []pass
	}{
		{server.Source{Binary: "redis-server"}, "", false, whole},
		{server.Source{Binary: "redis-server"}, "", true, brief},
		{server.Source{Image: "redis:7.4"}, "", false, whole},
		{server.Source{Addr: "127.0.0.1:6379"}, "", false, asked},
		{server.Source{Image: "redis:7.4"}, "partition", false, []pass{{2, []string{"partition"}}}},
		{server.Source{Binary: "redis-server"}, "faults,history", false, []pass{{2, []string{"faults", "history"}}}},
	} {
		if got := plan(row.source, row.only, 2, row.brief); !reflect.DeepEqual(got, row.want) {
			t.Errorf("%v, only %q, brief %t: got %v, want %v", row.source, row.only, row.brief, got, row.want)
		}
	}
}

func TestPlan_suitesThatAreNamedRunOverTheProtocolThatIsNamed(t *testing.T) {
	got := plan(server.Source{Image: "redis:7.4"}, "promises,faults", 3, false)
	if want := []pass{{3, []string{"promises", "faults"}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCheck_refusesWhatCannotRun(t *testing.T) {
	binary, running := server.Source{Binary: "redis-server"}, server.Source{Addr: "127.0.0.1:6379"}
	for _, row := range []struct {
		source   server.Source
		suites   string
		protocol int
		runs     bool
	}{
		{binary, "promises", 2, true},
		{binary, "promises,faults,history", 3, true},
		{running, "promises", 2, true},
		{running, "faults", 2, false},
		{running, "promises,history", 2, false},
		{binary, "", 2, false},
		{binary, "promises, faults", 2, false},
		{binary, "internal/report", 2, false},
		{binary, "faults", 4, false},
	} {
		if err := check(row.source, row.suites, row.protocol); (err == nil) != row.runs {
			t.Errorf("%v, %q, RESP%d: got %v", row.source, row.suites, row.protocol, err)
		}
	}
}

func TestRun_refusesWhatItWouldIgnore(t *testing.T) {
	t.Setenv(server.AddrVariable, "")
	t.Setenv(server.ImageVariable, "")
	t.Setenv(server.BinaryVariable, "/bin/true")
	for _, args := range [][]string{{"faults"}, {"-suites", ""}, {"-protocol", "3"}, {"-suites", "faults", "history"}} {
		if err := run(t.Context(), args, io.Discard); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

func TestKindOf_tellsPagesOfOneVersionApart(t *testing.T) {
	for want, source := range map[string]server.Source{
		"": {Binary: "redis-server"}, "-image": {Image: "redis:7.4"}, "-running": {Addr: "127.0.0.1:6379"},
	} {
		if got := kindOf(source); got != want {
			t.Errorf("%v: got %q, want %q", source, got, want)
		}
	}
}

func TestFileName_isTheServerAndTwoNumbers(t *testing.T) {
	for server, want := range map[string]string{"redis 7.0.15": "redis-7.0", "valkey 8.0.1": "valkey-8.0", "redis 7": "redis-7"} {
		if got := fileName(server); got != want {
			t.Errorf("%q: got %q, want %q", server, got, want)
		}
	}
}
