package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/report"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/rig"
	"github.com/edgelimit/edgelimit/adapter-outbound-cache-redis/servicelane/internal/server"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "servicelane:", err)
		stop()
		os.Exit(1)
	}
}

// pass is some suites over one protocol.
type pass struct {
	protocol int
	suites   []string
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("servicelane", flag.ContinueOnError)
	suites := flags.String("suites", "", "only these, with commas between; no page is written but by "+partition+" alone")
	protocol := flags.Int("protocol", 2, "RESP version of -suites")
	brief := flags.Bool("brief", false, "over RESP3 the promises alone; no page is written, whatever the suites")
	command := flags.String("command", "make service-lane", "what the page says it is written by")
	folder := flags.String("evidence", "../../docs/evidence", "where the page is written")
	if err := flags.Parse(args); err != nil {
		return err
	}
	named := false
	flags.Visit(func(f *flag.Flag) { named = named || f.Name == "suites" || f.Name == "protocol" })
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; suites are named by -suites", flags.Arg(0))
	}
	source, err := server.Find()
	if err != nil {
		return err
	}
	if named {
		if err := check(source, *suites, *protocol); err != nil {
			return err
		}
	}
	page := report.Page{Source: source.String(), Command: *command, Began: time.Now()}
	for _, p := range plan(source, *suites, *protocol, *brief) {
		ran, err := p.run(ctx, source, out)
		if err != nil {
			return err
		}
		page.Suites = append(page.Suites, ran...)
	}
	if err := page.Verdict(); err != nil {
		return err
	}
	switch {
	case *brief:
		return nil
	case *suites == "":
		return publish(page, func(server string) string { return "service-lane-" + fileName(server) + kindOf(source) }, *folder, out)
	case *suites == partition:
		page.Title = "Partitions"
		return publish(page, func(string) string { return partition }, *folder, out)
	default:
		return nil
	}
}

// partition is the suite that has a page of its own. It needs containers, and is no part of the whole.
const partition = "partition"

// check refuses suites, and a protocol for them, that cannot run on a source.
func check(source server.Source, suites string, protocol int) error {
	for name := range strings.SplitSeq(suites, ",") {
		switch name {
		case "promises":
		case "faults", "history", partition:
			if source.Addr != "" {
				return fmt.Errorf("the suite %s harms its servers and needs its own: unset %s", name, server.AddrVariable)
			}
		default:
			return fmt.Errorf("there is no suite %q: name promises, faults, history or partition by -suites, with commas and no spaces between", name)
		}
	}
	if protocol != 2 && protocol != 3 {
		return fmt.Errorf("-protocol is %d, which is neither 2 nor 3", protocol)
	}
	return nil
}

// plan is what runs on a source: a server that runs already is asked and not harmed.
func plan(source server.Source, only string, protocol int, brief bool) []pass {
	all := []string{"promises", "faults", "history"}
	if source.Addr != "" {
		all = all[:1]
	}
	if only != "" {
		return []pass{{protocol, strings.Split(only, ",")}}
	}
	again := all[:min(2, len(all))]
	if brief {
		again = all[:1]
	}
	return []pass{{2, all}, {3, again}}
}

// run runs the suites one after the other, so that none disturbs the figures of another.
func (p pass) run(ctx context.Context, source server.Source, out io.Writer) ([]report.Suite, error) {
	args := []string{"test", "-json", "-count=1", "-p=1", "-timeout=5m"}
	if source.Image != "" {
		args = append(args, "-parallel=4") // a row waits for its container for most of its time
	}
	if p.protocol == 3 {
		args = append(args, "-skip=^TestRefill") // millions of steps that no protocol changes
	}
	for _, suite := range p.suites {
		args = append(args, "./"+suite)
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", rig.ProtocolVariable, p.protocol))
	cmd.Stderr = out
	endTogether(cmd)
	stream, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ran, err := report.Read(stream, out)
	if err != nil {
		end() // else it would wait for a reader
		return nil, errors.Join(err, cmd.Wait())
	}
	ended := cmd.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	failed := 0
	for i := range ran {
		ran[i].Protocol = p.protocol
		failed += ran[i].Failed
		s := ran[i]
		fmt.Fprintf(out, "%-10s RESP%d %5d passed, %d failed, %d skipped, %.0f s\n", s.Name, p.protocol, s.Passed, s.Failed, s.Skipped, s.Seconds)
	}
	switch {
	case failed > 0: // the suites tell
		return ran, nil
	case ended != nil:
		return nil, fmt.Errorf("no test failed, and yet: %w", ended)
	case len(ran) != len(p.suites):
		return nil, fmt.Errorf("%d suites ran, want %s", len(ran), strings.Join(p.suites, ", "))
	}
	return ran, nil
}

// publish writes the page under the name that it has for a server: service-lane-redis-7.0.md, or
// service-lane-redis-7.4-image.md.
func publish(page report.Page, name func(server string) string, folder string, out io.Writer) error {
	text, err := page.Text()
	if err != nil {
		return err
	}
	server, err := page.Server()
	if err != nil {
		return err
	}
	file := filepath.Join(folder, name(server)+".md")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	fmt.Fprintln(out, "written:", file)
	return nil
}

// kindOf tells the pages of one version apart.
func kindOf(source server.Source) string {
	switch {
	case source.Addr != "":
		return "-running"
	case source.Image != "":
		return "-image"
	default:
		return ""
	}
}

// fileName is a server's name and the first two numbers of its version.
func fileName(server string) string {
	name, version, _ := strings.Cut(server, " ")
	parts := strings.SplitN(version, ".", 3)
	return name + "-" + strings.Join(parts[:min(2, len(parts))], ".")
}
