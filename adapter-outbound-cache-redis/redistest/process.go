package redistest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"time"
)

// process is a child that ends with this process at the latest.
type process struct {
	cmd   *exec.Cmd
	alive context.Context // cancelled once the child has been waited for
}

// launch starts cmd from a thread of its own and keeps that thread until the child ends: on Linux the child's death
// signal is tied to the thread that forked it, not to the whole process.
func launch(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = dieWithParent()
	alive, ended := context.WithCancel(context.Background())
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer ended()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return &process{cmd: cmd, alive: alive}, nil
}

func (p *process) id() string { return strconv.Itoa(p.cmd.Process.Pid) }

func (p *process) kill() error {
	// A child that ended by itself refuses the signal; the wait below is the answer either way.
	_ = p.cmd.Process.Kill()
	select {
	case <-p.alive.Done():
		return nil
	case <-time.After(stopLimit):
		return fmt.Errorf("process %s is still there %v after SIGKILL", p.id(), stopLimit)
	}
}

func (p *process) pause() error {
	if err := p.cmd.Process.Signal(stopSignal); err != nil {
		return err
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	limit := time.After(stopLimit)
	for !stopped(p.id()) {
		select {
		case <-tick.C:
		case <-p.alive.Done():
			return errors.New("it ended")
		case <-limit:
			return fmt.Errorf("it still runs %v after SIGSTOP", stopLimit)
		}
	}
	return nil
}

func (p *process) resume() error { return p.cmd.Process.Signal(continueSignal) }
