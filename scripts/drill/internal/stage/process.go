package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// patience ends a wait for what comes soon on a machine with nothing else to do.
const patience = time.Minute

// process is a child that ends with this process at the latest.
type process struct {
	cmd    *exec.Cmd
	output transcript
	ended  chan struct{} // closed once it is reaped
}

// launch starts a program with these variables beside PATH. The thread that starts
// a child is the one that its death signal is tied to, so it is kept.
func launch(environ []string, program string, arguments ...string) (*process, error) {
	p := &process{cmd: exec.Command(program, arguments...), ended: make(chan struct{})}
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, environ...)
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	p.cmd.SysProcAttr = dieWithParent()
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.ended)
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	return p, nil
}

// kill ends it by SIGKILL and waits until it is reaped.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // one that has ended refuses the signal
	<-p.ended
}

// stop ends it by SIGTERM, and demands exit code 0.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("it had ended before it was stopped:\n%s", p.output.String())
	}
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.kill()
		return fmt.Errorf("it does not stop:\n%s", p.output.String())
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("it ended with %d:\n%s", code, p.output.String())
	}
	return nil
}

// await asks done every few milliseconds until it is true. It gives up when the
// process ends, when ctx does, or when patience does.
func (p *process) await(ctx context.Context, what string, done func() bool) error {
	err := Await(ctx, what, func() bool {
		select {
		case <-p.ended:
			return true
		default:
			return done()
		}
	})
	select {
	case <-p.ended:
		err = errors.Join(err, errors.New("it ended"))
	default:
	}
	if err != nil {
		return fmt.Errorf("%w; it printed:\n%s", err, p.output.String())
	}
	return nil
}

// Await asks done every few milliseconds until it is true. It gives up when ctx
// ends, or after a minute.
func Await(ctx context.Context, what string, done func() bool) error {
	limit := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-limit:
			return fmt.Errorf("%s: not within %v", what, patience)
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, ctx.Err())
		}
	}
	return nil
}

// transcript is what a process printed so far.
type transcript struct {
	mu    sync.Mutex
	bytes bytes.Buffer
}

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bytes.Write(p)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bytes.String()
}
