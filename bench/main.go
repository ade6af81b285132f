package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/edgelimit/edgelimit/bench/internal/web"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := start(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// start is this program, or the upstream that it starts as a program of its own.
func start(ctx context.Context, args []string) error {
	if len(args) == 1 && args[0] == web.UpstreamArgument {
		return web.ServeUpstream(ctx, os.Stdout)
	}
	return run(ctx, args)
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	root := flags.String("root", "..", "the repository")
	file := flags.String("report", "", "the page to write; a whole run writes its page in docs/evidence, any other none")
	quick := flags.Bool("quick", false, "fewer and shorter rounds, no million subjects; not evidence")
	rounds := flags.Int("rounds", full.rounds, "rounds of a race")
	slice := flags.Duration("slice", full.slice, "how long a contender runs in a round")
	profile := flags.Bool("profile", false, "show where the time and the memory go instead, and write docs/evidence/profile.md")
	only := flags.String("only", "", "measure only contenders whose name contains this; gateway is one")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("what is %q?", flags.Arg(0))
	}
	p := full
	if *quick {
		p = short
	}
	flags.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "rounds":
			p.rounds = *rounds
		case "slice":
			p.slice = *slice
		}
	})
	if p.rounds < 1 || p.slice < time.Millisecond {
		return errors.New("rounds must be 1 or more, and slice 1ms or more")
	}
	if *profile && *only != "" {
		return errors.New("a profile is of all that it measures: leave out only")
	}
	p.only, p.root = *only, *root
	name, measure := "performance.md", p.performance
	if *profile {
		name, measure = "profile.md", p.profile
	}
	if *file == "" && *only == "" && !*quick {
		*file = *root + "/docs/evidence/" + name
	}
	text, err := measure(ctx, args)
	if err != nil {
		return err
	}
	return publish(text, *file)
}

// publish prints the page, and writes it if it has a file.
func publish(text, file string) error {
	fmt.Print(text)
	if file == "" {
		return nil
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// command is what runs the same again.
func command(args []string) string {
	switch {
	case len(args) == 0:
		return "make bench"
	case len(args) == 1 && strings.TrimLeft(args[0], "-") == "profile":
		return "make profile"
	}
	words := []string{"cd bench && go run ."}
	for _, arg := range args {
		if strings.ContainsAny(arg, " \"'") {
			arg = strconv.Quote(arg)
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}
