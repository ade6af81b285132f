package redistest

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
)

func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// stopped reads the state letter, which follows the command's name in parentheses.
func stopped(pid string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return false
	}
	state := stat[bytes.LastIndexByte(stat, ')')+1:]
	return bytes.HasPrefix(state, []byte(" T"))
}
