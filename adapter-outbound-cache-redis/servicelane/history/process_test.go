package history_test

import (
	"bufio"
	"context"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// ordersVariable tells a process that a test has started what to do.
const ordersVariable = "EDGELIMIT_HISTORY_ORDERS"

const (
	processes = 3
	clients   = 16 // in each process at most, one call at a time

	longestRun = time.Minute
	pause      = 5 * time.Millisecond // of a client who was refused, or an outage would take all calls
)

// orders are what one process is told.
type orders struct {
	Load     string // the name of a load
	Addr     string
	Protocol int
	Prefix   string   // of keys
	Limiters []string // the policies' ids, or slidingLog
	Calls    int      // of each client
	Turn     int      // of these, how many on the same states
	Clients  int
	First    int // the number of its first client
	Timeout  time.Duration
	Seed     int // the program, of a seeded load
	Retries  int // of its client
}

// limiter is what the clients of a process share.
type limiter interface {
	// ask makes a call and notes its fate.
	ask(ctx context.Context, o *operation)
	close()
}

// serve is the main of a started process: it says when it is ready, waits for a word, makes its calls and prints what
// they came to.
func serve(text string, in io.Reader, out io.Writer) error {
	var o orders
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), longestRun)
	defer cancel()
	load := loads[o.Load]
	shared, err := load.open(ctx, o)
	if err != nil {
		return err
	}
	defer shared.close()
	if _, err := fmt.Fprintln(out, "ready"); err != nil {
		return err
	}
	if _, err := in.Read(make([]byte, 1)); err != nil {
		return err
	}
	return gob.NewEncoder(out).Encode(perform(ctx, o, load, shared))
}

// perform makes the calls of all clients of a process.
func perform(ctx context.Context, o orders, load load, shared limiter) []operation {
	made := make([]operation, o.Clients*o.Calls)
	var all sync.WaitGroup
	for n := range o.Clients {
		own := made[n*o.Calls : (n+1)*o.Calls]
		all.Go(func() {
			draw := rand.New(rand.NewPCG(1, uint64(o.First+n)))
			for i := range own {
				own[i] = operation{Client: o.First + n, Call: load.pick(draw, o, i)}
				own[i].Start = clock()
				shared.ask(ctx, &own[i])
				own[i].End = clock()
				if own[i].Fate == refused {
					time.Sleep(pause)
				}
			}
		})
	}
	all.Wait()
	return made
}

// process is one that a test has started and that is ready.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	errors strings.Builder
}

// run has the processes of a load make their calls, and returns what all of them saw.
func run(t *testing.T, o orders, addrs ...string) []operation {
	t.Helper()
	return finish(t, prepare(t, o, addrs...))
}

// prepare starts this test binary once for each of the addresses, and waits until all processes are ready.
func prepare(t *testing.T, o orders, addrs ...string) []*process {
	t.Helper()
	started := make([]*process, len(addrs))
	for i, addr := range addrs {
		o.Addr, o.First = addr, i*clients
		started[i] = start(t, o)
	}
	for _, p := range started {
		p.awaitReady(t)
	}
	return started
}

// finish lets the processes begin together and waits for their ends.
func finish(t *testing.T, started []*process) []operation {
	t.Helper()
	for _, p := range started {
		_, _ = fmt.Fprintln(p.in)
	}
	var all []operation
	for _, p := range started {
		all = append(all, p.result(t)...)
	}
	return all
}

func start(t *testing.T, o orders) *process {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")}
	p.cmd.Env = append(os.Environ(), ordersVariable+"="+string(text))
	p.cmd.Stderr = &p.errors
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *process) awaitReady(t *testing.T) {
	t.Helper()
	if line, err := p.out.ReadString('\n'); line != "ready\n" {
		_ = p.cmd.Wait()
		t.Fatalf("a process said %q: %v: %s", line, err, &p.errors)
	}
}

func (p *process) result(t *testing.T) []operation {
	t.Helper()
	var made []operation
	err := gob.NewDecoder(p.out).Decode(&made)
	if ended := p.cmd.Wait(); err != nil || ended != nil {
		t.Fatalf("a process failed: %v, %v: %s", err, ended, &p.errors)
	}
	return made
}
