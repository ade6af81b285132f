package redistest_test

import (
	"fmt"
	"os"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// TestMain fails the run if a goroutine of the package outlives the tests.
func TestMain(m *testing.M) {
	code := m.Run()
	limit := time.After(patience)
	tick := time.NewTicker(time.Millisecond)
	for {
		stacks := goroutines()
		// The test's own frames are in redistest_test, so these are the package's.
		if !strings.Contains(stacks, "/redistest.") {
			os.Exit(code)
		}
		select {
		case <-tick.C:
		case <-limit:
			fmt.Fprintf(os.Stderr, "goroutines left behind:\n%s", stacks)
			os.Exit(1)
		}
	}
}

func goroutines() string {
	var stacks strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
	return stacks.String()
}
