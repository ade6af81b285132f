//go:build !unix

package redistest

import "syscall"

// These numbers make Signal fail where a process cannot be paused.
const (
	stopSignal     = syscall.Signal(19)
	continueSignal = syscall.Signal(18)
)
