package e2e_test

import (
	"os/exec"
	"runtime"
	"syscall"
)

// bind makes the child end with this process, and gives it a process group of its
// own. The thread that starts a child is the one that its death signal is tied to,
// so it is held until the returned function is called.
func bind(c *exec.Cmd) (release func()) {
	runtime.LockOSThread()
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return runtime.UnlockOSThread
}

// end kills the child and whatever it started.
func end(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }

// interrupt is Ctrl-C in the child's terminal.
func interrupt(c *exec.Cmd) error { return syscall.Kill(-c.Process.Pid, syscall.SIGINT) }
