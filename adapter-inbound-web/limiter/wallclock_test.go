package limiter_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wallClock are the methods of an instant that read the wall clock, or leave nothing
// else of it.
var wallClock = []string{"Unix", "UnixMilli", "UnixMicro", "UnixNano", "Nanosecond", "UTC", "Round", "Truncate"}

// The wall clock may step under the process; what the limiter counts by must not. Of an
// instant it takes nothing but how long ago it was.
func TestLocal_readsNoWallClock(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	clocks := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			of, selects := n.(*ast.SelectorExpr)
			if !selects {
				return true
			}
			if slices.Contains(wallClock, of.Sel.Name) {
				t.Errorf("%s reads the wall clock: %s", name, of.Sel.Name)
			}
			if of.Sel.Name == "Since" {
				clocks++
			}
			return true
		})
	}
	if clocks != 1 {
		t.Errorf("%d clocks, want the one that says how long ago an instant was", clocks)
	}
}
