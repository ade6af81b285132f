package e2e_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience ends a wait for what comes soon on a machine with nothing else to do.
const patience = 30 * time.Second

// eventually waits until done, which it asks every few milliseconds.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	measure(t, what, done)
}

// within is eventually with a limit that is part of what is promised.
func within(t testing.TB, limit time.Duration, what string, done func() bool) {
	t.Helper()
	if took, noise := measure(t, what, done); took > limit {
		t.Fatalf("%s came after %v, want at most %v; the machine paused for up to %v meanwhile", what, took, limit, noise)
	}
}

// measure waits until done and returns how long it took, and by how much the
// machine overslept at worst.
func measure(t testing.TB, what string, done func() bool) (took, noise time.Duration) {
	t.Helper()
	const nap = 5 * time.Millisecond
	begun := time.Now()
	for !done() {
		if time.Since(begun) > patience {
			t.Fatalf("after %v there is still no %s", patience, what)
		}
		asleep := time.Now()
		time.Sleep(nap)
		noise = max(noise, time.Since(asleep)-nap)
	}
	return time.Since(begun), noise
}

// transcript is what a process printed so far.
type transcript struct {
	mu    sync.Mutex
	bytes bytes.Buffer
}

func (b *transcript) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes.Write(p)
}

func (b *transcript) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes.String()
}

// process is one edgelimit, or another program that a test runs.
type process struct {
	command        *exec.Cmd
	listen, admin  string // once it serves
	stdout, stderr transcript
	ended          chan struct{} // closed when it is gone
}

// start runs the program under test with these variables beside PATH and HOME.
func start(t testing.TB, environ []string, arguments ...string) *process {
	t.Helper()
	return launch(t, environ, binary, arguments...)
}

func launch(t testing.TB, environ []string, program string, arguments ...string) *process {
	t.Helper()
	p := &process{command: exec.Command(program, arguments...), ended: make(chan struct{})}
	p.command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, environ...)
	p.command.Stdout, p.command.Stderr = &p.stdout, &p.stderr
	p.begin(t)
	return p
}

func (p *process) begin(t testing.TB) {
	t.Helper()
	p.command.WaitDelay = patience
	launched := make(chan error, 1)
	go func() {
		defer close(p.ended)
		defer bind(p.command)()
		err := p.command.Start()
		launched <- err
		if err == nil {
			_ = p.command.Wait()
		}
	}()
	if err := <-launched; err != nil {
		t.Fatalf("start %s: %v", p.command.Path, err)
	}
	t.Cleanup(func() {
		select {
		case <-p.ended:
		default:
			end(p.command)
			<-p.ended
		}
		for line := range strings.Lines(p.stderr.String()) {
			if slices.Contains(p.command.Args, "json") && !json.Valid([]byte(line)) {
				t.Errorf("a line is not of the log's format: %s", line)
			}
		}
		if strings.Contains(p.stderr.String(), "DATA RACE") || strings.Contains(p.stderr.String(), "panic") {
			t.Error("the process raced or panicked")
		}
		if t.Failed() {
			t.Logf("%s printed:\n%s%s", strings.Join(p.command.Args, " "), p.stdout.String(), p.stderr.String())
		}
	})
}

// serve runs the program with this configuration and waits until it serves.
func serve(t testing.TB, s settings, environ ...string) *process {
	t.Helper()
	return serveBy(t, binary, s, environ...)
}

func serveBy(t testing.TB, program string, s settings, environ ...string) *process {
	t.Helper()
	p := launch(t, environ, program, "serve", "--config", s.file(t), "--log-format", "json", "--log-level", "debug")
	p.awaitServing(t)
	return p
}

func (p *process) awaitServing(t testing.TB) {
	t.Helper()
	eventually(t, "line that says where it serves", func() bool {
		select {
		case <-p.ended:
			t.Fatalf("it ended with %d before it served", p.command.ProcessState.ExitCode())
		default:
		}
		serving := p.logged("serving")
		p.listen, _ = serving["listen"].(string)
		p.admin, _ = serving["admin-listen"].(string)
		return serving != nil
	})
}

// logged is the first log line with that message, nil if there is none yet.
func (p *process) logged(message string) map[string]any {
	for line := range strings.Lines(p.stderr.String()) {
		var entry map[string]any
		if json.Unmarshal([]byte(line), &entry) == nil && entry["msg"] == message {
			return entry
		}
	}
	return nil
}

func (p *process) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.command.Process.Signal(s); err != nil {
		t.Fatalf("signal %v: %v", s, err)
	}
}

// exit waits for the end and returns the exit code, -1 after a signal.
func (p *process) exit(t testing.TB) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	return p.command.ProcessState.ExitCode()
}
