package partition_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/redistest"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/caller"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
)

// client is a program in a container that follows orders.
type client struct {
	*server.Member
	t       *testing.T
	orders  *json.Encoder
	answers *json.Decoder
	out     io.Closer
}

// orderLimit is when a client is held for lost.
const orderLimit = time.Minute

// allAtOnce is how many scenes play at once unless -parallel says otherwise: most of their time is the cut's.
const allAtOnce = "3"

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", allAtOnce); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	folder, err := os.MkdirTemp("", "partition-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	program = sync.OnceValues(func() (string, error) { return build(filepath.Join(folder, "client")) })
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// program is the client's file, built once.
var program func() (string, error)

// build makes a program that needs no library of the image's.
func build(file string) (string, error) {
	cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-o", file, "./client") // stripped: it is copied into each container
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the client: %w: %s", err, text)
	}
	return file, nil
}

func newClient(t *testing.T, name string, on ...*server.Network) *client {
	t.Helper()
	file, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return &client{t: t, Member: server.ProgramOn(name, on, file)}
}

// attach begins to give orders.
func (c *client) attach() {
	c.t.Helper()
	in, out := c.Attach(c.t)
	c.orders, c.answers, c.out = json.NewEncoder(in), json.NewDecoder(out), out
	c.answers.UseNumber()
}

func (c *client) follow(o caller.Order) caller.Answer {
	c.t.Helper()
	defer time.AfterFunc(orderLimit, func() { _ = c.out.Close() }).Stop()
	var a caller.Answer
	if err := c.orders.Encode(o); err != nil {
		c.t.Fatalf("order %s: %v", c.Name, err)
	}
	if err := c.answers.Decode(&a); err != nil {
		c.t.Fatalf("the answer of %s: %v", c.Name, err)
	}
	if a.Problem != "" {
		c.t.Fatalf("%s: %s", c.Name, a.Problem)
	}
	return a
}

func (c *client) open(target caller.Target) { c.follow(caller.Order{Open: &target}) }
func (c *client) mark(moment string)        { c.follow(caller.Order{Mark: moment}) }
func (c *client) end() caller.Account       { return c.follow(caller.Order{End: true}).Account }

func (c *client) begin(questions []caller.Question, rounds int) {
	c.follow(caller.Order{Begin: &caller.Load{Questions: questions, Every: every, Rounds: rounds}})
}

func (c *client) drain(questions []caller.Question) caller.Account {
	return c.follow(caller.Order{Drain: questions}).Account
}

// witness is a server, seen by a client.
type witness struct {
	*client
	addr string
}

// ask sends a command. It answers false if no reply came.
func (w witness) ask(args ...string) (any, bool) {
	w.t.Helper()
	a := w.follow(caller.Order{Ask: &caller.Command{Addr: w.addr, Args: args}})
	if a.Refused != "" {
		return redistest.ServerError(a.Refused), true
	}
	return a.Reply, !a.Silent
}

// Do sends a command that must be replied to; numbers in the reply are of type json.Number.
func (w witness) Do(tb testing.TB, args ...string) any {
	tb.Helper()
	reply, came := w.ask(args...)
	if !came {
		tb.Fatalf("%s does not reply to %q", w.addr, args)
	}
	return reply
}

// must is Do for a command that is not refused.
func (w witness) must(args ...string) any {
	w.t.Helper()
	reply := w.Do(w.t, args...)
	if refused, failed := reply.(redistest.ServerError); failed {
		w.t.Fatalf("%s: %q: %v", w.addr, args, refused)
	}
	return reply
}
