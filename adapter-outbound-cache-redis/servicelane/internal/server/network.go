package server

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
	networks "github.com/testcontainers/testcontainers-go/network"
)

// Network is a private network of containers. No way leads out of it, not to this machine either, so a container that
// has left it is out of reach: what is sent gets lost, with no word to the sender.
type Network struct {
	name   string
	engine *testcontainers.DockerClient
}

// NewNetwork makes a network, which is removed after the containers that are started later. It fails the test where
// there is no container engine or no image.
func NewNetwork(tb testing.TB) *Network {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), engineLimit)
	defer cancel()
	if source, err := Find(); err != nil || source.Image == "" {
		tb.Fatalf("needs a container engine: %s must name an image of a server (%s must be unset)", ImageVariable, AddrVariable)
	}
	engine, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		tb.Fatalf("needs a container engine: %v", err)
	}
	tb.Cleanup(func() { _ = engine.Close() })
	made, err := networks.New(ctx, networks.WithInternal(), networks.WithLabels(map[string]string{Label: os.Getenv(RunVariable)}))
	if err != nil {
		tb.Fatalf("needs a container engine: make a network: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), engineLimit)
		defer cancel()
		if err := made.Remove(ctx); err != nil {
			tb.Errorf("remove a network: %v", err)
		}
	})
	return &Network{name: made.Name, engine: engine}
}

// Tie is that a container is on a network.
type Tie struct {
	*Network
	*Member
}

// Disconnect takes containers off networks, all at once. Their connections there fall silent and are not closed.
func Disconnect(tb testing.TB, ties ...Tie) {
	tb.Helper()
	if err := each(ties, Tie.cut); err != nil {
		tb.Fatalf("take containers off networks: %v", err)
	}
}

// Connect takes containers onto networks, all at once and each under its name. An address may be another than before.
func Connect(tb testing.TB, ties ...Tie) {
	tb.Helper()
	if err := each(ties, Tie.tie); err != nil {
		tb.Fatalf("take containers onto networks: %v", err)
	}
}

func (t Tie) cut() error {
	ctx, cancel := context.WithTimeout(context.Background(), engineLimit)
	defer cancel()
	_, err := t.engine.NetworkDisconnect(ctx, t.name, client.NetworkDisconnectOptions{Container: t.box.GetContainerID()})
	return err
}

func (t Tie) tie() error {
	ctx, cancel := context.WithTimeout(context.Background(), engineLimit)
	defer cancel()
	_, err := t.engine.NetworkConnect(ctx, t.name, client.NetworkConnectOptions{
		Container: t.box.GetContainerID(), EndpointConfig: &network.EndpointSettings{Aliases: []string{t.Name}},
	})
	return err
}

// Member is a container on one network or several. On each of them the others find it by its name.
type Member struct {
	Name     string
	Networks []*Network

	command []string
	program string // a file of this machine's that runs in the container; "" for its own redis-server
	box     *testcontainers.DockerContainer
}

// RedisOn is a server on port 6379 of some networks.
func RedisOn(name string, on []*Network, directives ...string) *Member {
	return &Member{Name: name, Networks: on, command: append(plainDirectives(), directives...)}
}

// ProgramOn is a program that this machine has built, which needs no other file, on some networks. Standard input and
// output are its tie to the test.
func ProgramOn(name string, on []*Network, program string) *Member {
	return &Member{Name: name, Networks: on, program: program}
}

// Launch starts containers at once. They run when it returns; whether they serve is for the test to ask.
func Launch(tb testing.TB, members ...*Member) {
	tb.Helper()
	source, err := Find()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := each(members, (*Member).end); err != nil {
			tb.Errorf("end containers: %v", err)
		}
	})
	if err := each(members, func(m *Member) error { return m.start(source.Image, log.TestLogger(tb)) }); err != nil {
		tb.Fatalf("start containers: %v", err)
	}
}

// each does the same to all at the same time.
func each[T any](these []T, do func(T) error) error {
	errs := make([]error, len(these))
	var all sync.WaitGroup
	for i, this := range these {
		all.Go(func() { errs[i] = do(this) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (m *Member) start(image string, logger log.Logger) error {
	ctx, cancel := context.WithTimeout(context.Background(), engineLimit)
	defer cancel()
	options := []testcontainers.ContainerCustomizer{
		testcontainers.WithLabels(map[string]string{Label: os.Getenv(RunVariable)}),
		testcontainers.WithLogger(logger),
	}
	if m.program == "" {
		options = append(options, testcontainers.WithEntrypoint("redis-server"), testcontainers.WithCmd(m.command...))
	} else {
		const inside = "/program"
		options = append(options, testcontainers.WithEntrypoint(inside), testcontainers.WithCmd(),
			testcontainers.WithFiles(testcontainers.ContainerFile{HostFilePath: m.program, ContainerFilePath: inside, FileMode: 0o755}),
			testcontainers.WithConfigModifier(func(c *container.Config) { c.OpenStdin = true }),
			// A name that is asked for while its server is out of reach must not be waited for once it is back.
			testcontainers.WithHostConfigModifier(func(c *container.HostConfig) { c.DNSOptions = []string{"timeout:1", "attempts:1"} }))
	}
	for _, n := range m.Networks {
		options = append(options, networks.WithNetworkName([]string{m.Name}, n.name))
	}
	box, err := testcontainers.Run(ctx, image, options...)
	m.box = box
	return err
}

func (m *Member) end() error {
	return testcontainers.TerminateContainer(m.box, testcontainers.StopTimeout(0))
}

// AddrOn is a member's address on one of its networks.
func (m *Member) AddrOn(tb testing.TB, n *Network) netip.Addr {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), engineLimit)
	defer cancel()
	state, err := m.box.Inspect(ctx)
	if err != nil {
		tb.Fatalf("look at %s: %v", m.Name, err)
	}
	on, known := state.NetworkSettings.Networks[n.name]
	if !known {
		tb.Fatalf("%s is not on the network", m.Name)
	}
	return on.IPAddress
}

// Attach ties the test to the standard input and output of a program. What it writes to standard error ends the output
// as an error. The engine does not always tell that a container is gone: who waits for output closes it in the end.
func (m *Member) Attach(tb testing.TB) (in io.Writer, out io.ReadCloser) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), engineLimit)
	defer cancel()
	tied, err := m.Networks[0].engine.ContainerAttach(ctx, m.box.GetContainerID(), client.ContainerAttachOptions{
		Stream: true, Stdin: true, Stdout: true, Stderr: true,
	})
	if err != nil {
		tb.Fatalf("attach to %s: %v", m.Name, err)
	}
	read, written := io.Pipe()
	var copying sync.WaitGroup
	copying.Go(func() {
		var complaint strings.Builder
		_, err := stdcopy.StdCopy(written, &complaint, tied.Reader)
		if complaint.Len() > 0 {
			err = errors.New(complaint.String())
		}
		_ = written.CloseWithError(err)
	})
	tb.Cleanup(func() {
		tied.Close()
		_ = written.Close()
		copying.Wait()
	})
	return tied.Conn, read
}
