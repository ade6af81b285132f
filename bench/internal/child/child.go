// Package child runs the other programs of a benchmark: their output in a file,
// their life no longer than the benchmark's own.
package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

const (
	patience  = 30 * time.Second
	pollEvery = 5 * time.Millisecond
)

// Child is a process that has been started.
type Child struct {
	command *exec.Cmd
	output  string
	ended   chan struct{} // closed once it is reaped
}

// Start starts a program with these variables beside PATH. Its output goes to the
// file. The thread that starts a child is the one that its death signal is tied to,
// so it is kept.
func Start(output string, environ []string, program string, arguments ...string) (*Child, error) {
	file, err := os.Create(output)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	c := &Child{command: exec.Command(program, arguments...), output: output, ended: make(chan struct{})}
	c.command.Env = append([]string{"PATH=" + os.Getenv("PATH")}, environ...)
	c.command.Stdout, c.command.Stderr = file, file
	c.command.SysProcAttr = dieWithParent()
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(c.ended)
		err := c.command.Start()
		started <- err
		if err == nil {
			_ = c.command.Wait() // the output says more than the exit code
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	return c, nil
}

// ID is its process id.
func (c *Child) ID() int { return c.command.Process.Pid }

// Output is what it has printed so far.
func (c *Child) Output() string {
	text, err := os.ReadFile(c.output)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}

// Await returns once done is true. It gives up when the child ends, when ctx does,
// or after half a minute.
func (c *Child) Await(ctx context.Context, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-c.ended:
			return errors.New("it ended: " + c.Output())
		case <-ctx.Done():
			return fmt.Errorf("wait for its first answer: %w", ctx.Err())
		}
	}
	return nil
}

// Kill ends it and waits until it is gone.
func (c *Child) Kill() {
	_ = c.command.Process.Kill() // one that has ended refuses the signal
	<-c.ended
}
