//go:build unix

package main

import (
	"os/exec"
	"syscall"
	"time"
)

// endTogether ends go test with the tests that it runs, and a server or a client of theirs.
func endTogether(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
}
