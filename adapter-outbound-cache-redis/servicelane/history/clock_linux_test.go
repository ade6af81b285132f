package history_test

import (
	"syscall"
	"unsafe"
)

const clockMonotonic = 1

// clock is CLOCK_MONOTONIC in nanoseconds. All processes of a machine read the same one and nobody can set it, so
// that an end read in one process and a start read in another may be compared: if the end is less, the first call was
// over before the second was made. What time.Now carries counts from the start of each process.
func clock() int64 {
	var now syscall.Timespec
	if _, _, failed := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&now)), 0); failed != 0 {
		panic(failed)
	}
	return now.Nano()
}
