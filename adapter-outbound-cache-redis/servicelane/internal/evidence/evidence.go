// Package evidence is how a lane's test tells the page what it has seen.
//
// The one rule that matters: what is kept is what was read or counted in that run; a promise is not evidence.
//
// A record is an attribute of the test (testing.TB.Attr) and so part of the JSON stream of go test, from which package
// report makes the page.
package evidence

import (
	"encoding/json"
	"fmt"
	"testing"
)

// The keys of the attributes.
const (
	FigureKey = "figure"
	FaultKey  = "fault"
	ServerKey = "server"
)

// Figure is something measured or counted.
type Figure struct {
	Part  string // of the suite, with a table of its own in which figures keep their order; may be empty
	What  string
	Value string
}

// Fault is what came of one fault: what callers heard, and what the server charged.
type Fault struct {
	Name     string // in the reader's words: "the reply is lost"
	Limiter  string // that it met: "edge port", "sliding log"
	Calls    int64  // evaluations asked for while it lasted
	Heard    string // "indeterminate", "unavailable SERVER"
	Charged  int64  // by the server, of those calls
	Followed string // what came after it, and how soon; may be empty
}

// Record keeps a figure: what was measured, and its value with its unit.
func Record(tb testing.TB, what, format string, args ...any) {
	tb.Helper()
	RecordOf(tb, "", what, format, args...)
}

// RecordOf is Record for a part of the suite.
func RecordOf(tb testing.TB, part, what, format string, args ...any) {
	tb.Helper()
	attribute(tb, FigureKey, Figure{part, what, fmt.Sprintf(format, args...)})
}

// RecordFault keeps what came of a fault.
func RecordFault(tb testing.TB, f Fault) {
	tb.Helper()
	attribute(tb, FaultKey, f)
}

// RecordServer keeps which server answered: "redis 7.0.15".
func RecordServer(tb testing.TB, name, version string) {
	tb.Helper()
	tb.Attr(ServerKey, name+" "+version)
}

func attribute(tb testing.TB, key string, record any) {
	tb.Helper()
	text, err := json.Marshal(record)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Attr(key, string(text))
}
