//go:build unix && !linux

package e2e_test

import (
	"os/exec"
	"syscall"
)

// bind gives the child a process group of its own.
func bind(c *exec.Cmd) (release func()) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return func() {}
}

// end kills the child and whatever it started.
func end(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }

// interrupt is Ctrl-C in the child's terminal.
func interrupt(c *exec.Cmd) error { return syscall.Kill(-c.Process.Pid, syscall.SIGINT) }
