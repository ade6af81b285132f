package server

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/evidence"
)

// Server is a server of one test's own: the address stays the same until the test ends, and so do data that the
// server has saved. [redistest.Server] says what each method does.
type Server interface {
	Addr() string
	Do(tb testing.TB, args ...string) any
	Calls(tb testing.TB, command string) int64
	Kill(tb testing.TB)
	Restart(tb testing.TB)
	Pause(tb testing.TB)
	Resume(tb testing.TB)
}

// Start runs a server of the test's own, with directives as for [redistest.Start]. A source that is one running
// server has none to give: the test fails, so a suite that needs this is not run there.
func Start(tb testing.TB, directives ...string) Server {
	tb.Helper()
	source, err := Find()
	switch {
	case err != nil:
		tb.Fatal(err)
	case source.Addr != "":
		tb.Fatalf("this test needs a server of its own to harm; unset %s", AddrVariable)
	case source.Image != "":
		return named(tb, startContainer(tb, source.Image, directives))
	}
	return named(tb, redistest.Start(tb, directives...))
}

// named records which server it is.
func named(tb testing.TB, s Server) Server {
	tb.Helper()
	name, version := Name(s.Do(tb, "INFO", "server"))
	evidence.RecordServer(tb, name, version)
	return s
}

// Name is what a server is, by its INFO, and its own version: not the one that it claims to be compatible with.
func Name(info any) (name, version string) {
	text := fmt.Sprint(info)
	for _, name := range []string{"valkey", "redis"} {
		if _, rest, found := strings.Cut(text, "\n"+name+"_version:"); found {
			version, _, _ := strings.Cut(rest, "\r")
			return name, version
		}
	}
	return "unknown", "0"
}

// Shared is a server to ask and not to harm: the one that runs already, or one of the test's own. Whoever uses it
// keeps to keys that nobody else has, and deletes them.
func Shared(tb testing.TB) redistest.Witness {
	tb.Helper()
	if addr := os.Getenv(AddrVariable); addr != "" {
		w := redistest.Witness{Addr: addr, Password: os.Getenv(PasswordVariable)}
		name, version := Name(w.Do(tb, "INFO", "server"))
		evidence.RecordServer(tb, name, version)
		return w
	}
	return redistest.Witness{Addr: Start(tb).Addr()}
}
