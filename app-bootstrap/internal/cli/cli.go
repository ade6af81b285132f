// Package cli is the command line: it reads arguments, loads a configuration and
// hands both to what does the work.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/edgelimit/edgelimit/app-bootstrap/internal/compose"
	"github.com/edgelimit/edgelimit/app-bootstrap/internal/config"
	"github.com/edgelimit/edgelimit/app-bootstrap/internal/quickstart"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // it could not start, or stopped by a failure
	exitUsage  = 2 // the arguments or the configuration are wrong
)

// Process is what the program has of its surroundings.
type Process struct {
	Args    []string // without the program's name
	Environ []string
	Stdout  io.Writer
	Stderr  io.Writer
}

const usage = `edgelimit: distributed edge rate limiting on Redis

  edgelimit serve --config FILE    run the gateway, or the decision endpoints alone
  edgelimit check --config FILE    say everything that is wrong or unwise in a config
  edgelimit quickstart             try it: everything in one process, nothing to install
  edgelimit version                print the version

serve and check take --set KEY=VALUE (repeatable) over file and environment:
  edgelimit serve --config edgelimit.yaml --set app.server.listen=0.0.0.0:8080
serve and quickstart take --log-format text|json and --log-level debug|info|warn|error.
`

// Run runs one command until it ends or ctx does, and returns the exit code.
func Run(ctx context.Context, p Process) int {
	command, rest := "", []string(nil)
	if len(p.Args) > 0 {
		command, rest = p.Args[0], p.Args[1:]
	}
	switch command {
	case "serve":
		return p.serve(ctx, rest)
	case "check":
		return p.check(rest)
	case "quickstart":
		return p.quickstart(ctx, rest)
	case "version", "--version":
		fmt.Fprintln(p.Stdout, "edgelimit", version())
		return exitOK
	case "help", "--help", "-h":
		fmt.Fprint(p.Stdout, usage)
		return exitOK
	default:
		if command != "" {
			fmt.Fprintf(p.Stderr, "edgelimit: unknown command %q\n\n", command)
		}
		fmt.Fprint(p.Stderr, usage)
		return exitUsage
	}
}

// options are the flags of all commands; each command declares those it takes.
type options struct {
	configFile string
	overrides  []string
	logFormat  string
	logLevel   slog.Level
}

func (o *options) configFlags(f *flag.FlagSet) {
	f.StringVar(&o.configFile, "config", "", "the configuration `FILE`")
	f.Func("set", "`KEY=VALUE` over file and environment; repeatable", func(s string) error {
		o.overrides = append(o.overrides, s)
		return nil
	})
}

func (o *options) logFlags(f *flag.FlagSet) {
	o.logFormat = "text"
	f.Func("log-format", "`text` or json (default text)", func(s string) error {
		if s != "text" && s != "json" {
			return errors.New("it must be text or json")
		}
		o.logFormat = s
		return nil
	})
	f.TextVar(&o.logLevel, "log-level", slog.LevelInfo, "`debug`, info, warn or error")
}

// parse reads args; false means that the command ends with this exit code.
func (p Process) parse(name string, args []string, declare ...func(*flag.FlagSet)) (exit int, ok bool) {
	flags := flag.NewFlagSet("edgelimit "+name, flag.ContinueOnError)
	flags.SetOutput(p.Stderr)
	for _, d := range declare {
		d(flags)
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK, false
	case err != nil:
		return exitUsage, false
	case flags.NArg() > 0:
		fmt.Fprintf(p.Stderr, "edgelimit %s: unexpected argument %q\n", name, flags.Arg(0))
		return exitUsage, false
	}
	return exitOK, true
}

func (p Process) logger(o options) *slog.Logger {
	settings := &slog.HandlerOptions{Level: o.logLevel}
	if o.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(p.Stderr, settings))
	}
	return slog.New(slog.NewTextHandler(p.Stderr, settings))
}

// load reads the configuration and prints what is wrong with it.
func (p Process) load(name string, o options) (config.Config, config.Report, bool) {
	sources := config.Sources{Environ: p.Environ, Overrides: o.overrides, FileName: o.configFile}
	if o.configFile == "" {
		fmt.Fprintf(p.Stderr, "edgelimit %s: name the configuration file: --config FILE\n", name)
		return config.Config{}, config.Report{}, false
	}
	content, err := os.ReadFile(o.configFile)
	if err != nil {
		fmt.Fprintf(p.Stderr, "edgelimit %s: %v\n", name, err)
		return config.Config{}, config.Report{}, false
	}
	sources.File = content
	loaded, report := config.Load(sources)
	for _, problem := range report.Problems {
		fmt.Fprintf(p.Stderr, "error: %s\n", problem)
	}
	return loaded, report, len(report.Problems) == 0
}

func (p Process) serve(ctx context.Context, args []string) int {
	var o options
	if exit, ok := p.parse("serve", args, o.configFlags, o.logFlags); !ok {
		return exit
	}
	loaded, report, ok := p.load("serve", o)
	if !ok {
		return exitUsage
	}
	logger := p.logger(o)
	for _, warning := range report.Warnings {
		logger.Warn("configuration", "warning", warning.String())
	}
	app, err := compose.New(ctx, loaded, logger)
	if err == nil {
		err = app.Run(ctx)
	}
	return p.ended("serve", err)
}

func (p Process) check(args []string) int {
	var o options
	if exit, ok := p.parse("check", args, o.configFlags); !ok {
		return exit
	}
	loaded, report, ok := p.load("check", o)
	for _, warning := range report.Warnings {
		fmt.Fprintf(p.Stdout, "warning: %s\n", warning)
	}
	if !ok {
		return exitUsage
	}
	for _, policy := range loaded.Summary() {
		fmt.Fprintln(p.Stdout, policy)
	}
	switch web := loaded.InboundWeb; web.Mode {
	case config.ModeLocal:
		fmt.Fprintln(p.Stdout, "the inbound-web limiter is in mode local")
	case config.ModeRedis:
		fmt.Fprintf(p.Stdout, "the inbound-web limiter is in mode redis, at %s\n", web.Redis.Redacted())
	}
	state := "off"
	if loaded.RateLimit.Enabled {
		state = "on, at " + loaded.RateLimit.Redis.Redacted()
	}
	fmt.Fprintf(p.Stdout, "%s is good; rate limiting is %s\n", o.configFile, state)
	return exitOK
}

func (p Process) quickstart(ctx context.Context, args []string) int {
	o := options{}
	if exit, ok := p.parse("quickstart", args, func(f *flag.FlagSet) {
		o.logFlags(f)
		o.logLevel = slog.LevelWarn
	}); !ok {
		return exit
	}
	return p.ended("quickstart", quickstart.Run(ctx, p.Stdout, p.logger(o)))
}

func (p Process) ended(name string, err error) int {
	if err != nil {
		fmt.Fprintf(p.Stderr, "edgelimit %s: %s\n", name, strings.TrimSpace(err.Error()))
		return exitFailed
	}
	return exitOK
}
