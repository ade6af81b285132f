package duallog_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails the run if a goroutine outlives the tests. In a process that a
// test has started it calls instead.
func TestMain(m *testing.M) {
	if orders := os.Getenv(processVariable); orders != "" {
		os.Exit(callInProcess(orders))
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
