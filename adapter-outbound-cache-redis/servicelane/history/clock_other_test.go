//go:build !linux

package history_test

import "time"

// clock is the wall clock, the one clock that all processes share everywhere. Nobody may set it while a test runs.
func clock() int64 { return time.Now().UnixNano() }
